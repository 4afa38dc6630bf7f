import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import {
  IdentityEngine,
  type ModeTarget,
  type Observation,
  ObservationBuffer,
} from '../src/identity-engine.ts';
import {
  type Outcome,
  outcomeOfError,
  outcomeOfFleetResult,
  outcomeOfResult,
  type Requested,
  type SentObservation,
  writeLine,
} from './support/call-line.ts';
import { RecordedWire, type Traffic } from './support/recorded-wire.ts';

/*
 * Sends calls to a service for some seconds, and writes each call with its outcome as a line of
 * JSON. The service's crash test (`test/clients/crash.test.ts`) compares these lines with the
 * stores, to prove that no call was lost or applied twice. Address and key come from the
 * environment.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '30' },
    agents: { type: 'string', default: '8' },
    buffered: { type: 'string', default: '8' },
    fleet: { type: 'string', default: '8' },
    lose: { type: 'string', default: '0' },
    'new-keys': { type: 'boolean', default: false },
  },
});

/** Pause between two agent calls or buffered observations, in milliseconds. */
const PAUSE_MS = 60;

/** Maximum wait for pending calls at the end, in milliseconds. */
const CLOSE_MS = 60_000;

/** Interval between timestamps, in milliseconds. */
const STEP_MS = 60_000;
/** First timestamp, in Unix milliseconds: before any create or reset. */
const SINCE_MS = Date.now() - 200 * 24 * 3_600_000;

const MODES: readonly ModeTarget[] = [
  ...(['PERCEPTION', 'EXPLORATION', 'ORDER', 'ASSERTION'] as const),
  ...(['CONNECTION', 'IDENTITY', 'STRESS_RESPONSE'] as const),
];

/** Outcome of an observation that perhaps shares its version with another observation. */
const MAYBE_ONE_VERSION = { kind: 'unknown', why: 'perhaps in one version with another' };

const endMs = performance.now() + Number(values.seconds) * 1_000;
const wire = new RecordedWire({
  lostShare: Number(values.lose),
  hasNewKeys: values['new-keys'],
});
const client = new IdentityEngine({ fetch: wire.fetch });
let calls = 0;

type Answered = { readonly etag: string | undefined; readonly throttled?: unknown };

/** Makes a call and logs the call. Returns the result; undefined after an error. */
async function called<T extends Answered>(
  requested: Requested,
  instance: string,
  make: (requestId: string) => Promise<T>,
  instanceOf: (result: T) => string = () => instance,
): Promise<T | undefined> {
  calls += 1;
  const id = calls;
  const requestId = `call-of-driver-${id}`;
  try {
    const result = await make(requestId);
    const traffic = wire.take(requestId);
    const outcome = outcomeOfResult(result, traffic);
    writeLine({ id, requested, instance: instanceOf(result), traffic, outcome });
    return result;
  } catch (error) {
    const outcome = outcomeOfError(error);
    writeLine({ id, requested, instance, traffic: wire.take(requestId), outcome });
    return undefined;
  }
}

const hundredth = () => Math.floor(Math.random() * 101) / 100;

/** Creates an instance, with retries until success. Returns its id. */
async function create(): Promise<string> {
  const modeStrengths = MODES.map(hundredth);
  const energyLevel = hundredth();
  const strengths = MODES.map((mode, index) => [mode.toLowerCase(), modeStrengths[index]]);
  const config = { mode_strengths: Object.fromEntries(strengths), energy_level: energyLevel };
  for (;;) {
    const name = `n${calls + 1}`;
    const made = await called(
      { kind: 'create', name, modeStrengths, energyLevel },
      '',
      (requestId) => client.instances.create({ name, initial_config: config }, { requestId }),
      ({ data }) => data.id,
    );
    if (made !== undefined) return made.data.id;
  }
}

/** An instance, with the number of observations that determines the next timestamp. */
class Subject {
  readonly id: string;
  #sent = 0;

  constructor(id: string) {
    this.id = id;
  }

  next(): SentObservation {
    this.#sent += 1;
    return {
      mark: `${this.id.slice(-8)}.${this.#sent}`,
      mode: Math.floor(Math.random() * MODES.length),
      signal: hundredth(),
      confidence: hundredth(),
      timestampMs: SINCE_MS + this.#sent * STEP_MS,
    };
  }
}

function bodyOf({ mark, mode, signal, confidence, timestampMs }: SentObservation): Observation {
  return {
    mode_target: MODES[mode] ?? 'ORDER',
    signal_strength: signal,
    confidence,
    context: { mark },
    timestamp: new Date(timestampMs).toISOString(),
  };
}

/** A sequential agent with its own instance. */
async function agent(): Promise<void> {
  let subject = new Subject(await create());
  while (performance.now() < endMs) {
    await sleep(Math.random() * 2 * PAUSE_MS);
    if (await step(subject)) continue;
    subject = new Subject(await create());
  }
}

/** Makes one call of an agent. Returns false after deleting the agent's instance. */
async function step(subject: Subject): Promise<boolean> {
  const { id } = subject;
  const instance = client.instance(id);
  const chance = Math.random();
  if (chance < 0.05) {
    await called({ kind: 'read' }, id, (requestId) => instance.snapshot({ requestId }));
  } else if (chance < 0.08) {
    const name = `n${calls + 1}`;
    const rename = { kind: 'rename', name };
    await called(rename, id, (requestId) => client.instances.update(id, { name }, { requestId }));
  } else if (chance < 0.11) {
    const mode = Math.random() < 0.5 ? 'initial' : 'default';
    await called({ kind: 'reset', mode }, id, (requestId) => instance.reset(mode, { requestId }));
  } else if (chance < 0.13) {
    await called({ kind: 'remove' }, id, (requestId) => client.instances.delete(id, { requestId }));
    return false;
  } else {
    await observe(subject, chance < 0.25 ? 2 + Math.floor(Math.random() * 6) : 1);
  }
  return true;
}

async function observe(subject: Subject, count: number): Promise<void> {
  const { id } = subject;
  const observations = Array.from({ length: count }, () => subject.next());
  const bodies = observations.map(bodyOf);
  const isBatch = count > 1;
  const isEveryStateWanted = isBatch && Math.random() < 0.3;
  const requested = { kind: 'process', observations, isBatch, isEveryStateWanted };
  const instance = client.instance(id);
  await called(requested, id, (requestId): Promise<Answered> => {
    const [body] = bodies;
    if (!isBatch && body !== undefined) return instance.process(body, { requestId });
    return isEveryStateWanted
      ? instance.processBatch(bodies, { requestId, includeIntermediate: true })
      : instance.processBatch(bodies, { requestId });
  });
}

/** Sends observations for several instances through one buffer. */
async function buffered(count: number): Promise<void> {
  const subjects = await Promise.all(
    Array.from({ length: count }, async () => new Subject(await create())),
  );
  const buffer = new ObservationBuffer(client, {
    onAcknowledged: ({ instanceId, observations, result }) => {
      batchEnded(instanceId, observations, (traffic) => outcomeOfResult(result, traffic));
    },
    onRejected: ({ instanceId, observation, error }) => {
      const outcome = { kind: 'refused', status: error.status, reason: error.code };
      batchEnded(instanceId, [observation], () => outcome);
    },
  });
  while (performance.now() < endMs) {
    const subject = subjects[Math.floor(Math.random() * subjects.length)];
    if (subject !== undefined) await buffer.add(subject.id, bodyOf(subject.next()));
    await sleep(PAUSE_MS / 4);
  }
  const { unacknowledged } = await buffer.close({ timeoutMs: CLOSE_MS });
  for (const { instanceId, observations, mayHaveHappened } of unacknowledged) {
    const left = { status: 0, reason: 'handed_back' };
    const outcome = mayHaveHappened
      ? { kind: 'unknown', why: left.reason }
      : { kind: 'refused', ...left };
    batchEnded(instanceId, observations, () => outcome);
  }
}

/** Sends observations for several instances in fleet calls, and logs each observation as a call. */
async function fleet(count: number): Promise<void> {
  const subjects = await Promise.all(
    Array.from({ length: count }, async () => new Subject(await create())),
  );
  while (performance.now() < endMs) {
    await sleep(Math.random() * 2 * PAUSE_MS);
    const chosen = subjects.flatMap((subject) => [subject, subject, subject]);
    const sent = chosen.flatMap(({ id }, at) => {
      if (Math.random() < 0.5) return [];
      const observation = chosen[at]?.next();
      return observation === undefined ? [] : [{ id, observation }];
    });
    if (sent.length > 0) await sendFleet(sent);
  }
}

type OfFleet = { readonly id: string; readonly observation: SentObservation };

async function sendFleet(sent: readonly OfFleet[]): Promise<void> {
  calls += 1;
  const requestId = `call-of-driver-${calls}`;
  const observations = sent.map(({ id, observation }) => {
    return { instance_id: id, ...bodyOf(observation) };
  });
  const outcomes = await client.process(observations, { requestId }).then(
    ({ data }) => data.results.map(outcomeOfFleetResult),
    (error: unknown) => sent.map(() => outcomeOfError(error)),
  );
  const traffic = wire.take(requestId);
  for (const [at, { id, observation }] of sent.entries()) {
    const outcome = outcomes[at] ?? { kind: 'unknown', why: 'no result' };
    writeProcess(id, [observation], traffic, outcome, false);
  }
}

/** Logs observations of an instance, each with its own key, as one call. */
function writeProcess(
  instance: string,
  observations: readonly SentObservation[],
  traffic: Traffic | undefined,
  outcome: Outcome,
  isBatch: boolean,
): void {
  calls += 1;
  const shape = { isBatch, isEveryStateWanted: false, hasItemKeys: true };
  const requested = { kind: 'process', ...shape, observations };
  writeLine({ id: calls, instance, requested, traffic, outcome });
}

/**
 * Logs a batch of a buffer: as one call, or as a call for each observation if any attempt was a
 * fleet call, because the service then wrote a version for each observation.
 */
function batchEnded(
  instance: string,
  observations: readonly Observation[],
  outcomeOf: (traffic: Traffic | undefined) => Outcome,
): void {
  const taken = observations.map((each) => wire.take(markIn(each)));
  const [traffic] = taken;
  const outcome = outcomeOf(traffic);
  const sent = observations.map(sentOf);
  if (!taken.some((each) => each?.isFleet)) {
    writeProcess(instance, sent, traffic, outcome, true);
    return;
  }
  // A later attempt for one instance may have written the rest of the batch as one version.
  const isRestUncertain = taken.some((each) => each?.isSingle);
  const unkeyed = traffic && { ...traffic, key: undefined };
  for (const [at, observation] of sent.entries()) {
    const happened = isRestUncertain && at > 0 ? MAYBE_ONE_VERSION : { kind: 'superseded' };
    const known = outcome.kind === 'acknowledged' ? happened : outcome;
    writeProcess(instance, [observation], unkeyed, known, false);
  }
}

function sentOf(observation: Observation): SentObservation {
  return {
    mark: markIn(observation),
    mode: MODES.indexOf(observation.mode_target),
    signal: observation.signal_strength,
    confidence: observation.confidence ?? 0,
    timestampMs: Date.parse(observation.timestamp ?? ''),
  };
}

function markIn(observation: Observation | undefined): string {
  return String(observation?.context?.['mark']);
}

await Promise.all([
  ...Array.from({ length: Number(values.agents) }, agent),
  buffered(Number(values.buffered)),
  fleet(Number(values.fleet)),
]);
