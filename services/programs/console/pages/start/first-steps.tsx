import type { ComponentChildren } from 'preact';
import { STEPS, type Start, type Step } from '#console/answers';
import { may } from '#pages/shell/session';
import { commandsFor } from '#pages/start/examples';
import { CopyButton } from '#view/parts/text';
import { Link } from '#view/shell/router';

const TITLES: Readonly<Record<Step, string>> = {
  key: 'Create an API key',
  call: 'Make the first call',
  instance: 'Create an instance',
  observation: 'Send an observation',
  connection: 'Connect a webhook or an agent',
};

/**
 * First steps of the account, each with its state. Shows the next open step with a command or a
 * link. `start` is undefined while the states are loading; the card keeps its height meanwhile.
 */
export function FirstSteps({
  start,
  apiUrl,
}: {
  readonly start: Start | undefined;
  readonly apiUrl: string;
}) {
  const next = start && STEPS.find((step) => !start.steps[step]);
  return (
    <section class="card first-steps" aria-labelledby="first" aria-busy={start === undefined}>
      <h2 id="first">First steps</h2>
      <ol class="steps-list">
        {STEPS.map((step) => (
          <li
            key={step}
            class={stateOf(step, start, next)}
            {...(step === next ? { 'aria-current': 'step' as const } : {})}
          >
            <span class="step-sign" aria-hidden="true">
              {start?.steps[step] === true ? '✓' : STEPS.indexOf(step) + 1}
            </span>
            <span>
              {TITLES[step]}
              <span class="unseen">
                {start === undefined ? '' : start.steps[step] ? ', done' : ', open'}
              </span>
            </span>
          </li>
        ))}
      </ol>
      <div class="next-step" role="status">
        {start === undefined ? null : next === undefined ? (
          <p>All first steps are done.</p>
        ) : (
          <NextStep step={next} apiUrl={apiUrl} />
        )}
      </div>
    </section>
  );
}

function stateOf(step: Step, start: Start | undefined, next: Step | undefined): string {
  if (start?.steps[step] === true) return 'is-done';
  return step === next ? 'is-next' : '';
}

function NextStep({ step, apiUrl }: { readonly step: Step; readonly apiUrl: string }) {
  const commands = commandsFor(step, apiUrl);
  return (
    <>
      <p>
        <strong>Next: {TITLES[step].toLowerCase().replace('api', 'API')}.</strong>{' '}
        <Explained step={step} />
      </p>
      {commands === undefined ? null : (
        <div class="command">
          <pre>{commands}</pre>
          <CopyButton value={commands} what="the commands" />
        </div>
      )}
    </>
  );
}

function Explained({ step }: { readonly step: Step }) {
  switch (step) {
    case 'key':
      return may('keys.write') ? (
        <>
          The console shows the key once.{' '}
          <Link to="/keys" class="button is-main">
            Create an API key
          </Link>
        </>
      ) : (
        <>Ask an owner or a developer of the account for an API key.</>
      );
    case 'call':
      return <>Store your key in KEY, and read your account.</>;
    case 'instance':
      return (
        <WriterText other="Owners and developers of the account can create instances.">
          Use the command, or <Link to="/instances/new">create an instance here</Link>.
        </WriterText>
      );
    case 'observation':
      return (
        <WriterText other="Owners and developers of the account can send observations.">
          Use the id of an instance, or open the instance in the <Link to="/fleet">fleet</Link>.
        </WriterText>
      );
    case 'connection':
      return (
        <>
          Use a client library in your agent, or <Link to="/webhooks">add a webhook endpoint</Link>.
          This step is done within a minute after the first call of the library.
        </>
      );
  }
}

function WriterText({
  children,
  other,
}: {
  readonly children: ComponentChildren;
  readonly other: string;
}) {
  return <>{may('instances.write') ? children : other}</>;
}
