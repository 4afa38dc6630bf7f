import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Replay, storedRows, verifyHead } from '#ctl/verify/heads';
import { trimPlan } from '#ctl/verify/trim-plan';
import type { EngineAnswer } from '#grpc/engine-messages';
import type { Floor, InstanceHead } from '#storage/ports/instances';
import {
  anyStep,
  byNewModel,
  FIRST_MODEL_FIRST,
  observe,
  perform,
  RESTLESS,
  reset,
  type Step,
  upset,
  wait,
} from '#test/ctl/verify/history-steps';
import {
  bodyOf,
  chunksOfRows,
  createdInstance,
  INSTANCE_ID,
  type InstanceScene,
  observed,
  START_MS,
} from '#test/engine/instance/instance-fixture';
import { isUpTo } from '#test/engine/trim/trim-fixture';
import { refusalOf } from '#test/support/settled';

/** A step, or a trim of the rows that are older than `keptS` seconds. */
type TrimStep = Step | { readonly kind: 'trim'; readonly keptS: number };

const EVERYTHING = { limit: 1_000, offset: 0, isEveryGeneration: true, isPaged: true } as const;

const trim = (keptS: number): TrimStep => ({ kind: 'trim', keptS });

/** Observations by model 1.1. */
const changed = Array.from({ length: 12 }, () => [wait(20), byNewModel(1, 0.9)]).flat();

function createdScene(): Promise<InstanceScene> {
  return createdInstance({ chunkBounds: chunksOfRows(4), models: FIRST_MODEL_FIRST }, RESTLESS);
}

async function stored(scene: InstanceScene): Promise<InstanceHead> {
  await scene.flush();
  const head = await scene.store.readHead(INSTANCE_ID);
  assert.ok(head);
  return head;
}

/** Times of a plan at the present time of a scene. */
const timesOf = ({ clock }: InstanceScene, cutoffMs: number) => ({
  cutoffMs,
  nowMs: clock.wallMs(),
});

async function plan(scene: InstanceScene, cutoffMs: number): Promise<Floor | undefined> {
  return await trimPlan(scene.store, INSTANCE_ID, await stored(scene), timesOf(scene, cutoffMs));
}

async function performAll(scene: InstanceScene, steps: readonly TrimStep[]): Promise<void> {
  for (const step of steps) {
    if (step.kind !== 'trim') {
      await perform(scene, step);
      continue;
    }
    const floor = await plan(scene, scene.clock.wallMs() - step.keptS * 1_000);
    if (floor !== undefined) await scene.ask({ kind: 'trim', ...floor });
  }
}

async function verdict(scene: InstanceScene): Promise<Replay> {
  const head = await stored(scene);
  return await verifyHead(head, storedRows(scene.store, INSTANCE_ID, head));
}

async function sceneAfter(...steps: readonly TrimStep[]): Promise<InstanceScene> {
  const scene = await createdScene();
  await performAll(scene, steps);
  return scene;
}

const planned = suite('the trim of an instance');

planned('is empty if no row exists, or if the oldest row is young enough', async () => {
  const empty = await createdScene();
  assert.is(await plan(empty, Number.MAX_SAFE_INTEGER), undefined);
  const scene = await sceneAfter(wait(5), observe(2, 0.7), wait(90), observe(4, 0.2));
  assert.is(await plan(scene, START_MS + 5_000), undefined);
  assert.is((await plan(scene, START_MS + 5_001))?.history, 1);
  assert.is((await plan(scene, Number.MAX_SAFE_INTEGER))?.history, 2);
});

planned('reads only one row if no row is due', async () => {
  const scene = await sceneAfter(...upset);
  const head = await stored(scene);
  const asked: number[][] = [];
  const store = {
    ...scene.store,
    readHistory: (id: string, newest: number, count: number) => {
      asked.push([newest, count]);
      return scene.store.readHistory(id, newest, count);
    },
  };
  assert.is(await trimPlan(store, INSTANCE_ID, head, timesOf(scene, START_MS)), undefined);
  assert.equal(asked, [[1, 1]]);
});

planned('ends before the first row that is young enough, even if older rows follow', async () => {
  const at = (seconds: number) => observed({ timestampMs: START_MS + seconds * 1_000 });
  const scene = await createdScene();
  for (const seconds of [0, 10, 20]) await scene.ask(at(seconds));
  // After a reset, a caller may send earlier timestamps.
  await scene.ask({ kind: 'reset', mode: 'initial' });
  await scene.ask(at(5));
  const floor = await plan(scene, START_MS + 15_000);
  assert.equal([floor?.history, floor?.generation, floor?.cycle], [2, 1, 2]);
});

planned('includes the drift events of the trimmed observations', async () => {
  const scene = await sceneAfter(...upset, reset('initial'), wait(2), ...upset);
  const { data: drift } = bodyOf(await scene.ask({ kind: 'readDrift', ...EVERYTHING }));
  const { data: rows } = bodyOf(await scene.ask({ kind: 'readHistory', ...EVERYTHING }));
  rows.reverse();
  for (const [index, row] of rows.entries()) {
    const floor = await plan(scene, Date.parse(row.timestamp) + 1);
    assert.is(floor?.history, index + 1);
    const below = drift.filter((event: typeof row) => isUpTo(event, row));
    assert.is(floor?.drift, below.length);
  }
  assert.ok(drift.length > 5);
});

planned('is refused if rows are missing', async () => {
  const scene = await sceneAfter(...upset);
  const head = await stored(scene);
  const gone = { ...scene.store, readHistory: async () => [] };
  const refusal = await refusalOf(() =>
    trimPlan(gone, INSTANCE_ID, head, timesOf(scene, Number.MAX_SAFE_INTEGER)),
  );
  assert.match(String(refusal), /row 1 of inst_\w+ is missing: run "ctl verify"/);
});

const after = suite('after a trim');

after('the remaining rows lead to the head, from the state at the floor', async () => {
  const scene = await sceneAfter(...upset, trim(70), wait(9), observe(1, 0.3));
  assert.equal(await verdict(scene), { kind: 'same', start: 'floor', since: 1, cycles: 5 });
});

after(
  'the remaining rows lead to the head after a second trim, and after a trim of all rows',
  async () => {
    const scene = await sceneAfter(...upset, trim(100), ...upset, trim(100));
    assert.equal(await verdict(scene), { kind: 'same', start: 'floor', since: 1, cycles: 6 });
    await performAll(scene, [wait(5_000), trim(0)]);
    assert.equal(await verdict(scene), { kind: 'same', start: 'floor', since: 1, cycles: 0 });
    await performAll(scene, [wait(9), observe(1, 0.3)]);
    assert.equal(await verdict(scene), { kind: 'same', start: 'floor', since: 1, cycles: 1 });
  },
);

after('a reset to a checkpoint from below the floor is replayed', async () => {
  const calm = [wait(60), observe(2, 0.6), wait(60), observe(2, 0.61)];
  const scene = await sceneAfter(
    ...calm,
    ...upset,
    trim(100),
    reset('default'),
    wait(3),
    observe(1, 0.9),
  );
  assert.equal(await verdict(scene), { kind: 'same', start: 'default', since: 1, cycles: 7 });
});

after('the state at the floor is found by trying every possible reset', async () => {
  for (const mode of ['initial', 'default'] as const) {
    const calm = [wait(60), observe(2, 0.6), wait(60), observe(2, 0.61)];
    const scene = await sceneAfter(...calm, ...upset, reset(mode), wait(3), ...upset, trim(100));
    const { floor } = await stored(scene);
    assert.ok(floor?.state !== undefined);
    assert.equal(await verdict(scene), { kind: 'same', start: 'floor', since: 2, cycles: 6 });
  }
});

after('the floor has no state if several resets lead to the same head', async () => {
  const calm = [wait(60), observe(2, 0.6), wait(60), observe(2, 0.61)];
  const scene = await sceneAfter(...calm, ...upset, reset('default'), wait(3), ...upset);
  const middleMs = scene.clock.wallMs() - 100_000;
  await performAll(scene, [reset('initial'), wait(3), observe(1, 0.9)]);
  const floor = await plan(scene, middleMs);
  assert.equal([floor?.generation, floor?.state], [2, undefined]);
  await scene.ask({ kind: 'trim', ...(floor as Floor) });
  assert.equal(await verdict(scene), { kind: 'same', start: 'initial', since: 3, cycles: 1 });
});

after('an unknown state stays unknown until a reset to the initial state', async () => {
  const scene = await sceneAfter(...upset);
  const head = await stored(scene);
  const other = { ...head, modelVersion: '0.9' };
  const floor = await trimPlan(scene.store, INSTANCE_ID, other, timesOf(scene, START_MS + 100_000));
  assert.ok(floor !== undefined && floor.state === undefined);
  await scene.ask({ kind: 'trim', ...floor });
  assert.equal(await verdict(scene), { kind: 'unknown_start', generation: 1 });
  await performAll(scene, [reset('initial'), wait(3), observe(1, 0.9)]);
  assert.equal(await verdict(scene), { kind: 'same', start: 'initial', since: 2, cycles: 1 });
});

after('a changed row, floor or head is reported', async () => {
  const scene = await sceneAfter(...upset, trim(100), wait(9), observe(1, 0.3));
  const head = await stored(scene);
  const rows = await Array.fromAsync(storedRows(scene.store, INSTANCE_ID, head));
  const { floor } = head;
  if (floor === undefined) throw new Error('the instance was not trimmed');
  const differences = async (changed: InstanceHead, of = rows) => {
    const replay = await verifyHead(changed, of);
    return replay.kind === 'different' ? replay.differences.join('\n') : replay.kind;
  };
  const withFloor = (change: Partial<Floor>) =>
    differences({ ...head, floor: { ...floor, ...change } });
  assert.match(await differences(head, rows.slice(1)), /row 7 is missing; row 8 follows/);
  assert.match(await differences(head, rows.slice(0, -1)), /6 rows are stored; the head counts 7/);
  assert.match(await withFloor({ history: 5 }), /row 6 is missing; row 7 follows/);
  assert.match(await withFloor({ cycle: 4 }), /row 7 has cycle 7, not 5/);
  assert.match(await withFloor({ timestampMs: floor.timestampMs + 1 }), /the replay gives/);
  assert.match(await withFloor({ drift: floor.drift + 1 }), /the head counts \d+ drift events/);
  const bytes = Buffer.from(floor.state ?? '', 'latin1');
  bytes.writeDoubleLE(0.123, 0);
  assert.match(await withFloor({ state: bytes.toString('latin1') }), /the replay gives/);
});

after(
  'the rows lead to the head, whether the floor is below or above a change of the model',
  async () => {
    for (const keptS of [500, 100]) {
      const scene = await sceneAfter(...upset, wait(200), ...changed, trim(keptS));
      const head = await stored(scene);
      assert.is(head.modelVersion, '1.1');
      assert.is(head.floor?.state?.length, 8 * (keptS === 500 ? 94 : 101));
      assert.equal((await verdict(scene)).kind, 'same');
    }
  },
);

const anyTrimStep: fc.Arbitrary<TrimStep> = fc.oneof(
  { weight: 14, arbitrary: anyStep },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 10_000 }).map(trim) },
);

after('no history is reported as wrong, and a history without resets is verified', async () => {
  const property = fc.asyncProperty(fc.array(anyTrimStep, { maxLength: 50 }), async (steps) => {
    const { kind } = await verdict(await sceneAfter(...steps));
    const isReset = steps.some((done) => done.kind === 'reset');
    assert.ok(isReset ? ['same', 'unknown_start'].includes(kind) : kind === 'same', kind);
  });
  await fc.assert(property, { numRuns: 150 });
});

const keyed = suite('a trim plan of an instance with a keyed observation');

const HOUR_MS = 3_600_000;

/** An instance with observations of 2020. Observation `keyedAt` has a key. */
async function keyedScene(count: number, keyedAt: number) {
  const scene = await createdInstance({ chunkBounds: chunksOfRows(4) }, RESTLESS);
  const fields = { callId: 4_711, idempotency: { key: 'order-7', fingerprint: 'f' } };
  const of = (n: number) => observed({ timestampMs: Date.UTC(2020, 0, 1) + n * 2_000 });
  const call = () => scene.ask(of(keyedAt), fields);
  let first: EngineAnswer | undefined;
  for (let n = 1; n <= count; n += 1) {
    if (n === keyedAt) first = await call();
    else await scene.ask(of(n));
  }
  return { scene, first, replay: call };
}

keyed('ends before the observation for 25 h, so that its answer can be replayed', async () => {
  const { scene, first, replay } = await keyedScene(20, 11);
  const floor = await plan(scene, START_MS);
  assert.is(floor?.history, 10);
  await scene.ask({ kind: 'trim', ...(floor as Floor) });
  await scene.evict();
  const { body, etag } = await replay();
  assert.equal([body, etag], [first?.body, first?.etag]);
  assert.is(await plan(scene, START_MS), undefined);
  scene.jump(25 * HOUR_MS);
  assert.is((await plan(scene, START_MS))?.history, 20);
});

keyed('ends at a stored state, if the state before the observation is unknown', async () => {
  for (const [count, history] of [
    [20, undefined],
    [270, 256],
  ] as const) {
    const { scene, first, replay } = await keyedScene(count, count - 5);
    // No program has this model, so the plan cannot replay the rows.
    const head = { ...(await stored(scene)), modelVersion: '0.9' };
    const floor = await trimPlan(scene.store, INSTANCE_ID, head, timesOf(scene, START_MS));
    assert.is(floor?.history, history);
    if (floor === undefined) continue;
    await scene.ask({ kind: 'trim', ...floor });
    await scene.evict();
    assert.is(String((await replay()).body), String(first?.body));
  }
});

// Catches a floor before a reset with a state of the wrong model, from which no replay leads on.
keyed('keeps the rows of a generation before a reset, whose model is unknown', async () => {
  const { scene, first, replay } = await keyedScene(20, 11);
  await scene.ask({ kind: 'reset', mode: 'initial' });
  await scene.ask(observed({ timestampMs: Date.UTC(2020, 0, 2) }));
  await scene.evict();
  assert.is(await plan(scene, START_MS), undefined);
  assert.is(String((await replay()).body), String(first?.body));
  scene.jump(25 * HOUR_MS);
  assert.is((await plan(scene, START_MS))?.history, 21);
});

for (const group of [planned, after, keyed]) group.run();
