import { setImmediate as nextTurn } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type PastView, pastView } from '#engine/instance/past';
import { instanceFrom } from '#engine/instance/state';
import { PastReads } from '#engine/past-reads';
import { forkStartFrom } from '#grpc/engine-messages';
import { MODELS } from '#identity/model';
import { type Clock, systemClock } from '#stdlib/clock';
import { createMetrics } from '#telemetry/metrics';
import {
  ANCHORED,
  bodyOf,
  CREATE,
  callOf,
  chunksOfRows,
  createdInstance,
  INSTANCE_ID,
  instancesUnderTest,
  observed,
  START_MS,
} from '#test/engine/instance/instance-fixture';
import { faultOf, live, observe, pastReadsOf, reset, textOf } from '#test/engine/past/past-fixture';
import { SeededRandom } from '#test/simulation/seeded-random';

const OTHER_ID = 'inst_00000000000000bb';
const COMMAND = { kind: 'readStates', generation: undefined, cycles: [1], points: 0 } as const;

/** A clock whose every look takes half a slice. */
function slowClock(): Clock {
  let nowMs = 0;
  return {
    ...systemClock,
    monotonicMs: () => {
      nowMs += 1;
      return nowMs;
    },
    after(_, task) {
      const timer = setImmediate(task);
      return { [Symbol.dispose]: () => clearImmediate(timer) };
    },
  };
}

const reading = suite('a read of past states');

reading('lets other turns run between its slices', async () => {
  const scene = instancesUnderTest();
  await live(scene, [observe(250)], new SeededRandom(1));
  let isDone = false;
  const read = pastReadsOf(scene, slowClock())
    .texts([100])
    .finally(() => {
      isDone = true;
    });
  let turns = 0;
  for (; !isDone; turns += 1) {
    assert.is(bodyOf(await scene.ask({ kind: 'readInstance' })).data.cycle_count, 250);
    await nextTurn();
  }
  assert.is((await read).length, 1);
  assert.ok(turns > 50, `${turns} turns of the same instance`);
});

reading('ends at its deadline', async () => {
  const scene = instancesUnderTest();
  await live(scene, [observe(250)], new SeededRandom(1));
  const late: Clock = { ...slowClock(), wallMs: () => Number.POSITIVE_INFINITY };
  const call = { accountId: 'Acc0unt00001', deadlineAtMs: START_MS };
  const reads = new PastReads({
    store: scene.store,
    models: MODELS,
    clock: late,
    metrics: createMetrics(),
  });
  const asked = () => reads.answer(call, { ...COMMAND, cycles: [100] }, () => viewOf(scene));
  assert.is((await faultOf(asked)).reason, 'deadline_exceeded');
});

/** View of the default instance, as its turn answers. */
async function viewOf(scene: ReturnType<typeof instancesUnderTest>): Promise<PastView> {
  const { past } = await scene.host.ask(INSTANCE_ID, callOf(COMMAND));
  if (past === undefined) throw new Error('the instance sent no view');
  return past;
}

reading('takes few of the places, so that other accounts are served', async () => {
  const ports = { store: instancesUnderTest().store, models: MODELS, clock: systemClock };
  const reads = new PastReads({ ...ports, metrics: createMetrics() });
  const { promise, resolve } = Promise.withResolvers<PastView>();
  const deadlineAtMs = Number.POSITIVE_INFINITY;
  const ask = (accountId: string) =>
    reads.answer({ accountId, deadlineAtMs }, { ...COMMAND, cycles: [0] }, () => promise);
  const waiting = Array.from({ length: 8 }, () => ask('a'));
  assert.is((await faultOf(() => ask('a'))).reason, 'overloaded');
  const others = ['b', 'c', 'd', 'e', 'f', 'g', 'h'].flatMap((id) =>
    Array.from({ length: 8 }, () => ask(id)),
  );
  assert.is((await faultOf(() => ask('i'))).reason, 'overloaded');
  const scene = await createdInstance();
  resolve(await viewOf(scene));
  assert.is((await Promise.all([...waiting, ...others])).length, 64);
  assert.is(bodyOf(await ask('a')).data.states.length, 1);
});

reading('is refused as trimmed or deleted if that happens meanwhile', async () => {
  for (const change of ['trim', 'remove'] as const) {
    const scene = instancesUnderTest({ chunkBounds: chunksOfRows(3) });
    await live(scene, [observe(100)], new SeededRandom(1));
    await scene.evict();
    const { store, clock } = scene;
    const reads = new PastReads({ store, models: MODELS, clock, metrics: createMetrics() });
    let views = 0;
    const asked = () =>
      reads.answer(callOf(COMMAND), { ...COMMAND, cycles: [5] }, async () => {
        views += 1;
        const view = await viewOf(scene);
        if (views > 1) return view;
        const floor = { history: 50, drift: 0, generation: 1, cycle: 50, timestampMs: START_MS };
        if (change === 'remove') await scene.ask({ kind: 'remove' });
        else await scene.ask({ kind: 'trim', ...floor, state: undefined });
        await scene.flush();
        return view;
      });
    const { code, reason } = await faultOf(asked);
    const expected = change === 'trim' ? 'cycle_trimmed' : undefined;
    assert.equal([code, reason, views], ['not_found', expected, 2]);
  }
});

const forks = suite('a fork');

/** Forks the default instance into `OTHER_ID`. */
async function forked(scene: ReturnType<typeof instancesUnderTest>, cycle: number) {
  const command = { kind: 'readForkStart', generation: undefined, cycle } as const;
  const { start } = forkStartFrom(await pastReadsOf(scene).ask(command));
  const fork = { cycle, generation: undefined, start };
  return await scene.ask({ ...CREATE, fork }, { instanceId: OTHER_ID });
}

forks('reaches the states of its parent, across stored states, evictions and a reset', async () => {
  const scene = instancesUnderTest();
  const lived = await live(
    scene,
    [observe(30), reset('default'), observe(20)],
    new SeededRandom(2),
  );
  const body = bodyOf(await forked(scene, 3)).data;
  assert.equal(body.forked_from, { instance_id: INSTANCE_ID, generation: 2, cycle: 3 });
  await scene.evict();
  const page = { limit: 1_000, offset: 0, isEveryGeneration: false };
  const rows = (await scene.read({ kind: 'readHistory', ...page })).data.reverse();
  const states: string[] = [];
  for (const row of rows.slice(3)) {
    const fields = { signal: row.signal_strength, confidence: row.confidence };
    const mode = ['PERCEPTION', 'EXPLORATION', 'ORDER', 'ASSERTION', 'CONNECTION', 'IDENTITY'];
    const index = mode.indexOf(row.mode_target);
    const place = { mode: index === -1 ? 6 : index, timestampMs: Date.parse(row.timestamp) };
    const answer = await scene.ask(observed({ ...fields, ...place }), { instanceId: OTHER_ID });
    states.push(textOf(bodyOf(answer).data).replace(OTHER_ID, INSTANCE_ID));
  }
  assert.equal(states, lived.get(2)?.slice(3));
});

forks('is refused while an engine of an older release could take it over', async () => {
  const scene = instancesUnderTest({ mayFork: () => false });
  await live(scene, [observe(3)], new SeededRandom(2));
  const { code, reason } = await faultOf(() => forked(scene, 2));
  assert.equal([code, reason], ['service_unavailable', 'upgrade_in_progress']);
  assert.not(scene.isInMemory(OTHER_ID));
});

forks('keeps the state of its start in a view that later cycles do not change', async () => {
  const scene = await createdInstance({}, ANCHORED);
  await scene.ask(observed({ timestampMs: START_MS + 1_000 }));
  const view = await viewOf(scene);
  const before = view.head.model.slice();
  await scene.ask(observed({ timestampMs: START_MS + 5_000 }));
  assert.equal(view.head.model, before);
  await scene.flush();
  const head = await scene.store.readHead(INSTANCE_ID);
  assert.is(pastView(INSTANCE_ID, instanceFrom(head), MODELS).cycle, 2);
});

for (const each of [reading, forks]) each.run();
