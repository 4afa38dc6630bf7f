import type { AnswerKey, InstanceChange, InstanceEvent } from '#engine/instance/event';
import { InstanceSourcing } from '#engine/instance/sourcing';
import { type InstanceState, instanceFrom, StepTimer } from '#engine/instance/state';
import { MODELS } from '#identity/model';
import { memoryInstanceStore } from '#storage/memory/instances';
import { type InstanceCheckpoint, packedState } from '#storage/ports/instances';
import type { JournalRecord } from '#storage/ports/journal';
import { ManualClock } from '#test/support/manual-clock';

/** Creation time of the samples, in Unix milliseconds. */
const START_MS = Date.UTC(2026, 0, 15, 12);

/**
 * Number of strong observations: enough for drift events, and for rows beyond the head's capacity.
 */
const PUSHES = 54;

const ACCOUNT_ID = 'Acc0unt00001';

/** Trim floor of the first sample. Rows below the floor are deleted. */
const FLOOR = {
  history: 10,
  drift: 0,
  generation: 1,
  cycle: 10,
  timestampMs: START_MS + 22_000,
  state: packedState(Float64Array.from({ length: 94 }, (_, place) => place / 3)),
};

const none = async (): Promise<void> => undefined;

/** Event sourcing for instances. */
export const SOURCING = new InstanceSourcing({
  store: memoryInstanceStore(),
  directory: { put: none, remove: none, reserve: none },
  model: { models: MODELS, steps: new StepTimer(new ManualClock(), () => undefined) },
});

/** An instance with its events and checkpoint. */
export type SampleInstance = {
  readonly instanceId: string;
  readonly records: readonly JournalRecord[];
  readonly checkpoint: InstanceCheckpoint;
};

const created = (fields: Partial<Extract<InstanceChange, { kind: 'created' }>> = {}) =>
  ({
    kind: 'created',
    accountId: ACCOUNT_ID,
    name: 'Ada',
    description: 'with "quotes", \u00e9 and \u{1f600}',
    modeStrengths: [0.1, 0.1, 0.8, 0.1, 0.1, 0.6, 1 / 3],
    energyLevel: 0.9,
    ...fields,
  }) as const satisfies InstanceChange;

function observed(seconds: readonly number[], contextJson = '{}'): InstanceChange {
  const observations = seconds.map((second) => ({
    mode: second % 4 === 0 ? 1 : 3,
    signal: second % 5 === 0 ? 1 / 3 : 1,
    confidence: second % 3 === 0 ? 0.123_456_789 : 1,
    timestampMs: START_MS + second * 1_000,
    contextJson,
  }));
  const isBatch = seconds.length > 1;
  return { kind: 'observed', observations, isBatch, isEveryStateWanted: isBatch };
}

/** Every kind of event, with and without key and context. */
function eventfulLife(): readonly (readonly [InstanceChange, AnswerKey?])[] {
  const pushes = Array.from({ length: PUSHES }, (_, n) => observed([10 + 2 * n]));
  return [
    [created()],
    [observed([2])],
    [observed([4, 6, 8], '{"place":"kitchen","n":1.5}')],
    ...pushes.map((push) => [push] as const),
    [{ kind: 'renamed', name: 'Bo', description: undefined }],
    [{ kind: 'renamed', name: undefined, description: 'another', tagsJson: '{"team":"\u00e9"}' }],
    [
      { kind: 'reset', mode: 'default' },
      { key: 'call:again', fingerprint: 'ab12' },
    ],
    [observed([300], '{"seen":"\u{1f441}"}'), { key: 'call:keyed', fingerprint: 'cd34' }],
    [{ kind: 'reset', mode: 'initial' }],
    [observed([400])],
    [{ kind: 'trimmed', floor: FLOOR }],
  ];
}

/**
 * Applies the events of `life` to a new instance. `models` has the model version of each event. The
 * last version also applies to all further events.
 */
function sampleOf(
  instanceId: string,
  life: readonly (readonly [InstanceChange, AnswerKey?])[],
  models: readonly string[] = [MODELS.newest.version],
): SampleInstance {
  const recentCalls = [{ callId: 2 ** 52 - 1, version: life.length, atMs: START_MS }];
  const records: JournalRecord[] = [];
  let state = instanceFrom(undefined);
  for (const [index, [change, answerKey]] of life.entries()) {
    const version = index + 1;
    const modelVersion = models[index] ?? (models.at(-1) as string);
    const atMs = START_MS + version;
    const event: InstanceEvent = { modelVersion, change, atMs, answerKey };
    const [actor, callId] = ['instance', 2 ** 40 + version];
    const written = SOURCING.recordOf(event);
    records.push({ actor, actorId: instanceId, version, callId, atMs, event: written });
    ({ state } = SOURCING.apply(state, event, version, instanceId));
  }
  const checkpoint = SOURCING.checkpoint(instanceId, state, recentCalls).copy;
  return { instanceId, records, checkpoint };
}

/** State after replaying records from the start. */
export function replayed(instanceId: string, records: readonly JournalRecord[]): InstanceState {
  return records.reduce(
    (state, { event, version }) =>
      SOURCING.apply(state, SOURCING.read(event), version, instanceId).state,
    instanceFrom(undefined),
  );
}

/** A long history, a new instance, a deleted instance, and a change from model 1.0 to 1.1. */
export function sampleInstances(): readonly SampleInstance[] {
  const fresh = created({ name: 'Cy', description: '', modeStrengths: Array(7).fill(0) });
  return [
    sampleOf('inst_00000000000000aa', eventfulLife()),
    sampleOf('inst_00000000000000bb', [[fresh]]),
    sampleOf('inst_00000000000000cc', [[created()], [observed([2])], [{ kind: 'removed' }]]),
    sampleOf(
      'inst_00000000000000dd',
      [[created()], [observed([2])], [observed([4])], [observed([6, 8])]],
      ['1.0', '1.0', '1.1'],
    ),
  ];
}
