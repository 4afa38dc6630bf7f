import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { InstanceKind } from '#engine/instance/kind';
import { engineMetrics } from '#engine/instance/process-call';
import type { InstanceState } from '#engine/instance/state';
import type { EngineCommand } from '#grpc/engine-messages';
import type { InstanceStore } from '#storage/ports/instances';
import { createMetrics } from '#telemetry/metrics';
import {
  CREATE,
  callOf,
  INSTANCE_ID,
  instancesUnderTest,
  observed,
  process,
  START_MS,
  seen,
} from '#test/engine/instance/instance-fixture';
import { liveBytes } from '#test/support/garbage';
import { ManualClock } from '#test/support/manual-clock';

/** Maximum relative difference between counted and measured bytes. */
const TOLERANCE = 0.2;

/** Additional tolerance for the unstored data of a replayed instance, in bytes. */
const SHELL_BYTES = 300;

/**
 * Memory of the checkpointer's entry for a dirty actor, in bytes. Storing frees the entry, but no
 * size counts it.
 */
const ACCOUNT_BYTES = 190;

/** Maximum memory of an idle instance, in bytes. With an unpacked model: 1,950. */
const IDLE_BYTES_MAX = 1_650;

/** Counted memory of a model that is not packed, in bytes. */
const MODEL_BYTES = 1_100;

/** Maximum memory of all measured instances, in bytes; at most the size of the tail. */
const BYTES_MAX = 24 * 1_024 * 1_024;

/** Number of instances per measurement, so that other memory of the process is negligible. */
const INSTANCES_MAX = 2_500;

/**
 * Maximum number of measurements. The memory of V8 itself varies, so a correct count may fail a
 * single measurement. A wrong count fails all measurements.
 */
const MEASUREMENTS_MAX = 3;

/** Command for every instance, optionally with an idempotency key. */
type Step = { readonly command: EngineCommand; readonly key?: string };

/** A store that keeps nothing: stored data must not affect the measurement. */
const FORGETFUL: InstanceStore = {
  bucketOf: () => 0,
  readHead: async () => undefined,
  readHeads: async () => new Map(),
  checkpoint: async () => undefined,
  storeAnswers: async () => undefined,
  readHistory: async () => [],
  readDrift: async () => [],
  readStates: async () => [],
  findStates: async () => [],
  findAnswer: async () => undefined,
  findAnswers: async () => [],
  answerPages: async function* () {},
};

const ANCHORED = { ...CREATE, modeStrengths: [0.1, 0.1, 0.8, 0.1, 0.1, 0.6, 0.1] };

/** A separate text per instance, as callers send separate texts. */
const textOf = (n: number, length: number, unit: string) =>
  Buffer.from(`${n}`.padEnd(length, unit)).toString();
const context = (n: number, length: number, unit = 'x') =>
  Buffer.from(JSON.stringify({ text: textOf(n, length, unit) })).toString();

/** Observations of a call that drift away from an anchored home, starting at second `fromS`. */
const drifting = (count: number, fromS = 0) =>
  Array.from({ length: count }, (_, i) =>
    seen({ mode: i % 2, signal: 1, timestampMs: START_MS + (fromS + i) * 60_000 }),
  );
const batch = (count: number, isEveryStateWanted: boolean): EngineCommand => {
  return { kind: 'process', observations: drifting(count), isBatch: true, isEveryStateWanted };
};

/** Steps of instance `n`, by case. */
const HISTORIES: Record<string, (n: number) => readonly Step[]> = {
  'a create': () => [{ command: CREATE }],
  'a create with a long description': (n) => [
    { command: { ...CREATE, description: textOf(n, 2_000, 'x') } },
  ],
  'a create with a description of two-byte characters': (n) => [
    { command: { ...CREATE, description: textOf(n, 2_000, '語') } },
  ],
  'a keyed create': (n) => [
    { command: { ...CREATE, description: textOf(n, 1_000, 'x') }, key: `k-${n}` },
  ],
  'a rename': (n) => [
    { command: CREATE },
    { command: { kind: 'rename', name: 'Ada', description: textOf(n, 1_500, 'x') } },
    { command: { kind: 'rename', name: 'Ada', description: textOf(n, 1_000, 'x') } },
  ],
  'a change of tags': (n) => [
    { command: { ...CREATE, tagsJson: JSON.stringify({ text: textOf(n, 1_500, 'x') }) } },
    {
      command: {
        ...{ kind: 'rename', name: undefined, description: undefined },
        tagsJson: JSON.stringify({ text: textOf(n, 1_000, 'x') }),
      },
    },
  ],
  'an observation': () => [{ command: CREATE }, { command: observed() }],
  'twenty observations': () => [
    { command: CREATE },
    ...drifting(20).map((one) => ({ command: process({ ...one, confidence: 0.01 }) })),
  ],
  'an observation with a context': (n) => [
    { command: CREATE },
    { command: observed({ contextJson: context(n, 1_000) }) },
  ],
  'an observation with a context of two-byte characters': (n) => [
    { command: CREATE },
    { command: observed({ contextJson: context(n, 1_000, '語') }) },
  ],
  'observations that drift': () => [
    { command: ANCHORED },
    ...drifting(20).map((one) => ({ command: process(one) })),
  ],
  'keyed observations': (n) => [
    { command: CREATE },
    ...drifting(5).map((one, i) => ({ command: process(one), key: `key-${n}-${i}` })),
  ],
  'a keyed reset': (n) => [
    { command: CREATE },
    { command: { kind: 'reset', mode: 'initial' }, key: `key-${n}` },
  ],
  'a removal of unstored data': (n) => [
    { command: { ...CREATE, description: textOf(n, 2_000, 'x') } },
    { command: batch(20, false), key: `key-${n}` },
    { command: { kind: 'remove' } },
  ],
  'a batch': () => [{ command: ANCHORED }, { command: batch(100, false) }],
  'a batch with contexts': (n) => [
    { command: CREATE },
    {
      command: process(...[1, 2, 3, 4].map((i) => seen({ contextJson: context(i * n, 4_000) }))),
    },
  ],
  'a removal of observations with contexts': (n) => [
    { command: CREATE },
    { command: observed({ contextJson: context(n, 4_000) }) },
    { command: { kind: 'remove' }, key: `key-${n}` },
  ],
  'a keyed batch': (n) => [{ command: ANCHORED }, { command: batch(100, true), key: `k-${n}` }],
};

const held = suite('the counted memory of unstored instances');

for (const [what, stepsOf] of Object.entries(HISTORIES)) {
  held(`equals the heap after ${what}`, async () => {
    const { counted } = await measure(10, stepsOf);
    const count = Math.min(INSTANCES_MAX, Math.floor(BYTES_MAX / counted));
    await measuredRepeatedly(async () => {
      const { memory, ...found } = await measure(count, stepsOf);
      assertClose(found.counted, memory.all, 'in memory');
      // For deleted or renamed instances, storing frees only the checkpointer's entry.
      const unstored = memory.unstored - ACCOUNT_BYTES;
      if (unstored > 100) assertClose(found.countedUnstored, unstored, 'unstored');
    });
  });
}

const idle = suite('the memory of an idle instance');

idle('does not include an unpacked model', async () => {
  const steps = HISTORIES['an observation'] ?? (() => []);
  const { memory } = await measure(INSTANCES_MAX, steps);
  assert.ok(memory.idle < IDLE_BYTES_MAX, `${Math.round(memory.idle)} bytes`);
});

const recovered = suite('the counted memory of instances that a takeover has replayed');

for (const [what, stepsOf] of Object.entries(HISTORIES)) {
  recovered(`equals the heap after ${what}`, async () => {
    const { counted } = await measureRecovered(10, stepsOf);
    const count = Math.min(INSTANCES_MAX, Math.floor(BYTES_MAX / counted));
    await measuredRepeatedly(async () => {
      const { countedUnstored, unstored } = await measureRecovered(count, stepsOf);
      const text = `${Math.round(countedUnstored)} of ${Math.round(unstored)} bytes`;
      assert.ok(Math.abs(countedUnstored - unstored) <= TOLERANCE * unstored + SHELL_BYTES, text);
    });
  });
}

/** Repeats a check that failed. Measures at most `MEASUREMENTS_MAX` times. */
async function measuredRepeatedly(check: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await check();
    } catch (error) {
      if (attempt === MEASUREMENTS_MAX) throw error;
    }
  }
}

/** Measures instances that replay records from the journal. */
async function measureRecovered(count: number, stepsOf: (n: number) => readonly Step[]) {
  const directory = { put: none, remove: none, reserve: none };
  const metrics = engineMetrics(createMetrics(), new ManualClock());
  const kind = new InstanceKind({ store: FORGETFUL, directory, metrics });
  const states: InstanceState[] = [];
  for (let n = 1; n <= count; n += 1) states.push(await replayedState(kind, stepsOf(n)));
  const dirty = liveBytes();
  const sizes = () => states.reduce((sum, state) => sum + kind.sizeOf(state), 0);
  const counted = sizes();
  for (const state of states) kind.sourcing.checkpoint(INSTANCE_ID, state, []).forget(state);
  const stored = liveBytes();
  return {
    counted: counted / count,
    countedUnstored: (counted - sizes()) / count,
    unstored: (dirty - stored) / count,
  };
}

/** An instance without stored data, replayed from the records of the steps. */
async function replayedState(kind: InstanceKind, steps: readonly Step[]): Promise<InstanceState> {
  const records = await recordsOf(kind, steps);
  const events = records.map((record) => kind.sourcing.read(JSON.parse(record)));
  const loaded = await kind.activate(INSTANCE_ID);
  let state = kind.sourcing.beforeReplay(loaded.state, events);
  for (const [index, event] of events.entries()) {
    ({ state } = kind.sourcing.apply(state, event, index + 1, INSTANCE_ID));
  }
  return state;
}

/** Journal records of an instance after the steps. */
async function recordsOf(kind: InstanceKind, steps: readonly Step[]): Promise<string[]> {
  let { state } = await kind.activate(INSTANCE_ID);
  const records: string[] = [];
  for (const { command, key } of steps) {
    const idempotency = key === undefined ? undefined : { key, fingerprint: 'f'.repeat(43) };
    await kind.receive(state, callOf(command, { idempotency }), {
      wallMs: START_MS,
      monotonicMs: 0,
      version: records.length,
      earlierVersion: undefined,
      offset: 0,
      commit(change) {
        records.push(JSON.stringify(kind.sourcing.recordOf(change)));
        const applied = kind.sourcing.apply(state, change, records.length, INSTANCE_ID);
        ({ state } = applied);
        return applied;
      },
      dependOn: () => undefined,
      beforeAnswer: () => undefined,
    });
  }
  return records;
}

async function none(): Promise<void> {}

/** Counted and measured bytes per instance, in total and of its unstored data. */
async function measure(count: number, stepsOf: (n: number) => readonly Step[]) {
  const scene = instancesUnderTest({ store: FORGETFUL });
  // Allocate what the measurement itself needs before the first reading.
  await scene.ask(CREATE, { instanceId: 'inst_0000000000000000', callId: 0 });
  const empty = liveBytes();
  for (let n = 1; n <= count; n += 1) {
    const instanceId = `inst_${n.toString(16).padStart(16, '0')}`;
    for (const { command, key } of stepsOf(n)) {
      const idempotency = key === undefined ? undefined : { key, fingerprint: 'f'.repeat(43) };
      // Without a call id, because remembered calls have their own bound.
      await scene.ask(command, { instanceId, callId: 0, idempotency });
    }
  }
  const dirty = liveBytes();
  const { bytes, unflushedBytes } = scene.host.residency;
  await scene.host.storeShard(0);
  const stored = liveBytes();
  const after = scene.host.residency;
  const freed = bytes - after.bytes;
  // The tail also counts texts, because dirty actors cannot be evicted. The tail does not count the
  // model, although a checkpoint packs the model.
  const inTail = unflushedBytes + count * MODEL_BYTES;
  assert.ok(inTail >= freed && unflushedBytes <= bytes, `${unflushedBytes} in the tail`);
  assert.is(after.unflushedBytes, 0);
  return {
    counted: bytes / count,
    countedUnstored: freed / count,
    memory: {
      all: (dirty - empty) / count,
      unstored: (dirty - stored) / count,
      idle: (stored - empty) / count,
    },
  };
}

function assertClose(counted: number, real: number, what: string): void {
  const text = `${Math.round(counted)} of ${Math.round(real)} bytes ${what}`;
  assert.ok(Math.abs(counted - real) <= TOLERANCE * real, text);
}

for (const group of [held, idle, recovered]) group.run();
