import { useState } from 'preact/hooks';
import { Refused } from '#pages/api';
import { levelText, waitText } from '#pages/format';
import { useIdempotencyKeys } from '#pages/idempotency-key';
import { codeSamples } from '#pages/instance/code-samples';
import { instanceCalls, type Observation, type Processed } from '#pages/instance/instance-calls';
import {
  MODE_CHOICES,
  type ObservationTexts,
  observationOf,
} from '#pages/instance/observation-form';
import { useAction } from '#pages/loaded';
import { SelectField, submitted, TextField, textsIn } from '#view/field';
import { CodePanel } from '#view/instance/code-panel';
import { driftClass } from '#view/instance/deviation-part';
import { RefusalNotice } from '#view/notice';

const FIELDS = ['mode_target', 'signal_strength', 'confidence', 'context', 'timestamp'];

/** What the form begins with. */
const FIRST: ObservationTexts = { mode_target: 'ORDER', signal_strength: '0.7', confidence: '0.9' };

/** Sends one observation, and shows the code that sends the same. */
export function ObservationPanel({
  id,
  maySend,
}: {
  readonly id: string;
  readonly maySend: boolean;
}) {
  const [texts, setTexts] = useState(FIRST);
  const { keyFor, done } = useIdempotencyKeys();
  const [answer, setAnswer] = useState<Processed | undefined>();
  const { run, isBusy, refusal } = useAction(async (values: ObservationTexts) => {
    setAnswer(undefined);
    const observation = observationOf(values);
    const processed = await instanceCalls.process(id, observation, keyFor(observation));
    done();
    setAnswer(processed);
  });
  return (
    <section class="card" aria-labelledby="observe">
      <h2 id="observe">Send an observation</h2>
      <form
        onSubmit={submitted((values) => run(values))}
        onInput={(event) => setTexts(textsIn(event.currentTarget))}
      >
        <div class="field-row">
          <SelectField
            {...{ name: 'mode_target', label: 'Mode', choices: MODE_CHOICES, refusal }}
            value="ORDER"
          />
          <TextField
            {...{ name: 'signal_strength', label: 'Signal', value: '0.7', refusal }}
            {...{ type: 'number', min: 0, max: 1, step: 'any', hint: '0 to 1' }}
          />
          <TextField
            {...{ name: 'confidence', label: 'Confidence', value: '0.9', refusal }}
            {...{
              type: 'number',
              min: 0,
              max: 1,
              step: 'any',
              hint: '0 to 1; empty is 1',
              isFilter: true,
            }}
          />
        </div>
        <TextField
          {...{ name: 'context', label: 'Context', refusal, lines: 2, isOptional: true }}
          hint="A JSON object of at most 8 KiB; it is stored and not interpreted."
        />
        <TextField
          {...{ name: 'timestamp', label: 'Time', refusal, isOptional: true, step: 1 }}
          type="datetime-local"
          hint="In your time zone; now without it."
        />
        <RefusalNotice refusal={refusal} fields={FIELDS} />
        {maySend ? (
          <p class="button-row">
            <button type="submit" class="is-main" disabled={isBusy}>
              {isBusy ? 'Sending …' : 'Send, for 1 cycle'}
            </button>
          </p>
        ) : (
          <p class="quiet">Your role may look at instances, not change them.</p>
        )}
      </form>
      <div role="status">{answer === undefined ? null : <Answer of={answer} />}</div>
      <Code id={id} texts={texts} />
    </section>
  );
}

function Answer({ of: { report, isThrottled, retryAfterSeconds: wait } }: { of: Processed }) {
  const { snapshot, drift } = report;
  if (isThrottled) {
    return (
      <p class="notice">
        Throttled: it came less than 1 second after the one before. Nothing changed, and no cycle
        was charged.{wait === undefined ? '' : ` The next one is taken in ${waitText(wait)}.`}
      </p>
    );
  }
  return (
    <p>
      Cycle {snapshot.cycle}: <span class={`badge ${driftClass(drift.level)}`}>{drift.level}</span>{' '}
      energy {levelText(snapshot.energy_level)}, stability {levelText(snapshot.stability_index)},
      stress {snapshot.stress_state}. {drift.deviation.description}
    </p>
  );
}

/** The code of what the form says, if it says something. */
function Code({ id, texts }: { readonly id: string; readonly texts: ObservationTexts }) {
  const observation = observationIn(texts);
  return observation === undefined ? (
    <p class="quiet">Code is shown once the fields can be sent.</p>
  ) : (
    <CodePanel samples={codeSamples(id, observation)} />
  );
}

function observationIn(texts: ObservationTexts): Observation | undefined {
  try {
    return observationOf(texts);
  } catch (error) {
    if (error instanceof Refused) return undefined;
    throw error;
  }
}
