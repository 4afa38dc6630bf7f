import { useState } from 'preact/hooks';
import { instanceApi, type Observation, type Processed } from '#pages/instance/api';
import { codeSamples } from '#pages/instance/code-samples';
import { MODES } from '#pages/instance/modes';
import { levelText, waitText } from '#pages/parts/format';
import { Refused } from '#pages/shell/api';
import { useIdempotencyKeys } from '#pages/shell/idempotency-key';
import { useAction } from '#pages/shell/loaded';
import { CodePanel, serviceAddress } from '#view/instance/code-panel';
import { SelectField, SubmitButton, submitted, TextField, textsIn } from '#view/parts/field';
import { DriftBadge, StressBadge } from '#view/parts/levels';
import { RefusalNotice } from '#view/parts/notice';

const FIELDS = ['mode_target', 'signal_strength', 'confidence', 'context', 'timestamp'];

/** Initial values of the form. */
const FIRST: ObservationTexts = { mode_target: 'ORDER', signal_strength: '0.7', confidence: '0.9' };

/** Form that sends one observation, and sample code for the same call. */
export function ObservationPanel({ id }: { readonly id: string }) {
  const [texts, setTexts] = useState(FIRST);
  const { keyFor, done } = useIdempotencyKeys();
  const [answer, setAnswer] = useState<Processed | undefined>();
  const { run, isBusy, refusal } = useAction(async (values: ObservationTexts) => {
    setAnswer(undefined);
    const observation = observationOf(values);
    const processed = await instanceApi.process(id, observation, keyFor(observation));
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
        <Fields refusal={refusal} />
        <RefusalNotice refusal={refusal} fields={FIELDS} />
        <p class="button-row">
          <SubmitButton isBusy={isBusy} busy="Sending …">
            Send, for 1 cycle
          </SubmitButton>
        </p>
      </form>
      <div role="status">{answer === undefined ? null : <Answer of={answer} />}</div>
      <Code id={id} texts={texts} />
    </section>
  );
}

function Fields({ refusal }: { readonly refusal: Refused | undefined }) {
  const share = { type: 'number', min: 0, max: 1, step: 'any' } as const;
  return (
    <>
      <div class="field-row">
        <SelectField
          {...{ name: 'mode_target', label: 'Mode', choices: MODE_CHOICES, refusal }}
          value="ORDER"
        />
        <TextField
          {...{ name: 'signal_strength', label: 'Signal', value: '0.7', refusal, ...share }}
          hint="0 to 1"
        />
        <TextField
          {...{ name: 'confidence', label: 'Confidence', value: '0.9', refusal, ...share }}
          {...{ hint: '0 to 1. Empty: 1.', isFilter: true }}
        />
      </div>
      <TextField
        {...{ name: 'context', label: 'Context', refusal, lines: 2, isOptional: true }}
        hint="A JSON object of at most 8 KiB. The service stores the object as is."
      />
      <TextField
        {...{ name: 'timestamp', label: 'Time', refusal, isOptional: true, step: 1 }}
        type="datetime-local"
        hint="In your time zone. Empty: now."
      />
    </>
  );
}

function Answer({ of: { report, isThrottled, retryAfterSeconds: wait } }: { of: Processed }) {
  const { snapshot, drift } = report;
  if (isThrottled) {
    return (
      <p class="notice">
        Throttled: less than 1 second after the previous observation. Nothing changed, and no cycle
        was charged.{wait === undefined ? '' : ` Send the next in ${waitText(wait)}.`}
      </p>
    );
  }
  return (
    <p>
      Cycle {snapshot.cycle}: <DriftBadge value={drift.level} /> energy{' '}
      {levelText(snapshot.energy_level)}, stability {levelText(snapshot.stability_index)}, stress{' '}
      <StressBadge value={snapshot.stress_state} />. {drift.deviation.description}
    </p>
  );
}

/** Sample code for the form's values, if they are valid. */
function Code({ id, texts }: { readonly id: string; readonly texts: ObservationTexts }) {
  const observation = observationIn(texts);
  return observation === undefined ? (
    <p class="quiet">Fill in valid fields to see the code.</p>
  ) : (
    <CodePanel samples={codeSamples(serviceAddress(), id, observation)} />
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

/** Modes as API values with display names. */
export const MODE_CHOICES = MODES.map(([key, name]) => [key.toUpperCase(), name] as const);

/** Field texts of an observation form. */
export type ObservationTexts = {
  readonly mode_target?: string;
  readonly signal_strength?: string;
  readonly confidence?: string;
  readonly context?: string;
  readonly timestamp?: string;
};

/**
 * Converts form texts to an observation. Empty fields are omitted. Throws `Refused` for an invalid
 * context or time; the service validates the rest.
 */
export function observationOf(texts: ObservationTexts): Observation {
  const { mode_target = 'ORDER', signal_strength = '', confidence = '' } = texts;
  const { context = '', timestamp = '' } = texts;
  return {
    mode_target,
    signal_strength: Number(signal_strength),
    ...(confidence.trim() === '' ? {} : { confidence: Number(confidence) }),
    ...(context.trim() === '' ? {} : { context: objectOf(context) }),
    ...(timestamp === '' ? {} : { timestamp: timeOf(timestamp) }),
  };
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  const parsed = parsedOf(text);
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) {
    return parsed as Readonly<Record<string, unknown>>;
  }
  throw wrong('context', 'must be a JSON object, such as {"turn": 3}');
}

function parsedOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Converts a time in the viewer's zone to RFC 3339. */
function timeOf(text: string): string {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw wrong('timestamp', 'must be a time');
  return time.toISOString();
}

const wrong = (field: string, message: string): Refused =>
  new Refused('invalid_request', message, { field });
