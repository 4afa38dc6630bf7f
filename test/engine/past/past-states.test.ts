import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { memoryInstanceStore } from '#storage/memory/instances';
import type { InstanceStore } from '#storage/ports/instances';
import { type StateRow, statePages } from '#storage/ports/states';
import {
  chunksOfRows,
  INSTANCE_ID,
  type InstanceScene,
  instancesUnderTest,
} from '#test/engine/instance/instance-fixture';
import {
  LIFE,
  live,
  observe,
  pastReadsOf,
  reset,
  storeOfReleases,
} from '#test/engine/past/past-fixture';
import { trimOf } from '#test/engine/trim/trim-fixture';
import { SeededRandom } from '#test/simulation/seeded-random';

const SEED = 20_261_129;

/** Stored states of the default instance, oldest first. */
async function statesOf(store: InstanceStore): Promise<StateRow[]> {
  const all: StateRow[] = [];
  for await (const page of statePages(store, INSTANCE_ID)) all.push(...page);
  return all;
}

/** Trims the oldest observations of the default instance, without a state at the floor. */
async function trim(scene: InstanceScene, count: number): Promise<void> {
  const page = { limit: 1_000, offset: 0, isEveryGeneration: true };
  const rows = await scene.read({ kind: 'readHistory', ...page });
  const drift = await scene.read({ kind: 'readDrift', ...page, isPaged: true });
  await scene.ask(trimOf(rows.data.reverse(), drift.data.reverse(), count));
}

const past = suite('past states of an instance with resets and two models');

past('equal the answers of that time, bit for bit, at 10,000 random cycles', async () => {
  const random = new SeededRandom(SEED);
  const scene = instancesUnderTest();
  const lived = await live(scene, LIFE, random);
  const generations = [...lived].filter(([, states]) => states.length > 0);
  const reads = pastReadsOf(scene);
  for (let round = 0; round < 20; round += 1) {
    // In the first rounds, most of the states are not stored yet.
    if (round === 10) await scene.flush();
    const [generation, states] = generations[round % generations.length] ?? [1, []];
    const cycles = Array.from({ length: 500 }, () => random.whole(1, states.length));
    const texts = await reads.texts(cycles, generation);
    const wrong = cycles.findIndex((cycle, index) => texts[index] !== states[cycle - 1]);
    assert.is(wrong, -1, `seed ${SEED}, generation ${generation}, cycle ${cycles[wrong]}`);
  }
});

past('are stored every 256 observations, at resets and where the model changes', async () => {
  const scene = instancesUnderTest();
  await live(scene, LIFE, new SeededRandom(SEED));
  await scene.flush();
  const places = (await statesOf(scene.store)).map(
    ({ generation, cycle, ordinal, cause, modelVersion }) =>
      `${generation}/${cycle} ${ordinal} ${cause} ${modelVersion}`,
  );
  assert.equal(places, [
    '1/256 256 spaced 1.0',
    '2/0 300 default 1.0',
    '2/212 512 spaced 1.0',
    '2/468 768 spaced 1.0',
    '3/0 1000 initial 1.0',
    '4/0 1000 default 1.0',
    '4/24 1024 spaced 1.0',
    '4/41 1041 model 1.1',
    '4/280 1280 spaced 1.1',
    '4/536 1536 spaced 1.1',
    '5/0 1540 default 1.1',
    '5/252 1792 spaced 1.1',
  ]);
});

past('are the same, whenever checkpoints and evictions happen', async () => {
  const [calm, busy] = [instancesUnderTest(), instancesUnderTest()];
  await live(calm, LIFE, new SeededRandom(SEED));
  await calm.flush();
  const random = new SeededRandom(SEED);
  let lived: Awaited<ReturnType<typeof live>> | undefined;
  for (const [index, step] of LIFE.entries()) {
    lived = await live(busy, [step], random, lived);
    if (index % 2 === 0) await busy.evict();
  }
  await busy.flush();
  const places = (rows: readonly StateRow[]) =>
    rows.map(({ generation, cycle }) => [generation, cycle]);
  assert.equal(places(await statesOf(busy.store)), places(await statesOf(calm.store)));
  const [[, states] = [1, []]] = [...(lived ?? [])].slice(-1);
  const cycles = [1, 100, states.length];
  const texts = await pastReadsOf(busy).texts(cycles);
  assert.equal(
    texts,
    cycles.map((cycle) => states[cycle - 1]),
  );
});

past('captured while a checkpoint is stored are stored by the next one', async () => {
  const memory = memoryInstanceStore();
  const { promise, resolve } = Promise.withResolvers<void>();
  const store: InstanceStore = {
    ...memory,
    checkpoint: async (checkpoints) => {
      await promise;
      await memory.checkpoint(checkpoints);
    },
  };
  const scene = instancesUnderTest({ store });
  const random = new SeededRandom(SEED);
  const lived = await live(scene, [observe(260)], random);
  await scene.flush();
  await live(scene, [observe(260)], random, lived);
  resolve();
  await scene.flush();
  assert.equal(
    (await statesOf(store)).map(({ cycle }) => cycle),
    [256, 512],
  );
});

past('in steps are the same before and after a checkpoint', async () => {
  const scene = instancesUnderTest();
  const random = new SeededRandom(SEED);
  const lived = await live(scene, [observe(600)], random);
  await scene.flush();
  await live(scene, [observe(600)], random, lived);
  const reads = pastReadsOf(scene);
  const before = await reads.points(10);
  assert.equal(
    before.map(({ cycle }: { readonly cycle: number }) => cycle),
    [256, 512, 768, 1_024, 1_200],
  );
  await scene.flush();
  assert.equal(await reads.points(10), before);
});

const refused = suite('a past state that is not available');

refused('is unknown after the present, and after the end of its generation', async () => {
  const scene = instancesUnderTest();
  await live(scene, [observe(3), reset('initial'), observe(2)], new SeededRandom(SEED));
  const reads = pastReadsOf(scene);
  for (const [cycle, generation] of [
    [3, 2],
    [4, 1],
    [0, 3],
  ] as const) {
    const { code, reason } = await reads.refusal(cycle, generation);
    assert.equal([code, reason], ['not_found', 'unknown_cycle']);
  }
});

refused('is trimmed before the floor, and names the first cycle that is left', async () => {
  const scene = instancesUnderTest({ chunkBounds: chunksOfRows(3) });
  const steps = [observe(20), reset('default'), observe(300)];
  const lived = await live(scene, steps, new SeededRandom(SEED));
  await scene.flush();
  await trim(scene, 25);
  await scene.flush();
  const reads = pastReadsOf(scene);
  const trimmed = await reads.refusal(4);
  assert.equal([trimmed.reason, trimmed.firstCycle], ['cycle_trimmed', 5]);
  const { reason, firstCycle } = await reads.refusal(3, 1);
  assert.equal([reason, firstCycle], ['cycle_trimmed', undefined]);
  // The floor of this trim has no state, so the next stored state is the first.
  const unknown = await reads.refusal(5);
  assert.equal([unknown.reason, unknown.firstCycle], ['state_not_stored', 236]);
  assert.equal(await reads.texts([240]), [lived.get(2)?.[239]]);
});

refused(
  'was not stored by an older release; short histories are proven from the creation',
  async () => {
    const { store, release } = storeOfReleases();
    const scene = instancesUnderTest({ store });
    const random = new SeededRandom(SEED);
    const lived = await live(scene, [observe(300), reset('default'), observe(100)], random);
    await scene.evict();
    release.isOld = false;
    await live(scene, [observe(200)], random, lived);
    const reads = pastReadsOf(scene);
    const early = await reads.refusal(5);
    assert.equal(
      [early.code, early.reason, early.firstCycle],
      ['conflict', 'state_not_stored', 212],
    );
    const first = await reads.refusal(5, 1);
    assert.equal([first.reason, first.firstCycle], ['state_not_stored', undefined]);
    assert.equal(await reads.texts([213]), [lived.get(2)?.[212]]);

    const other = storeOfReleases();
    const short = instancesUnderTest({ store: other.store });
    const shortLived = await live(short, [observe(300)], random);
    await short.evict();
    other.release.isOld = false;
    await live(short, [observe(300)], random, shortLived);
    assert.equal(
      await pastReadsOf(short).texts([7, 299]),
      [7, 299].map((c) => shortLived.get(1)?.[c - 1]),
    );
  },
);

refused('was not stored if an older release changed the model', async () => {
  const { store, release } = storeOfReleases();
  const scene = instancesUnderTest({ store });
  const random = new SeededRandom(SEED);
  const lived = await live(scene, [observe(100), observe(100, '1.1')], random);
  await scene.evict();
  release.isOld = false;
  await live(scene, [observe(100)], random, lived);
  const reads = pastReadsOf(scene);
  const { reason, firstCycle } = await reads.refusal(50);
  assert.equal([reason, firstCycle], ['state_not_stored', 256]);
  assert.equal(await reads.texts([270]), [lived.get(1)?.[269]]);
});

refused('is not shown if the replay misses the next stored state', async () => {
  const { store } = instancesUnderTest();
  let isSpoilt = false;
  const spoilt: InstanceStore = {
    ...store,
    readHistory: async (...asked) =>
      (await store.readHistory(...asked)).map((row) =>
        isSpoilt && row.ordinal === 300 ? { ...row, signal: row.signal / 2 + 0.1 } : row,
      ),
  };
  const scene = instancesUnderTest({ store: spoilt });
  await live(scene, [observe(600)], new SeededRandom(SEED));
  await scene.flush();
  isSpoilt = true;
  const reads = pastReadsOf(scene);
  const { code, reason } = await reads.refusal(290);
  assert.equal([code, reason], ['conflict', 'replay_mismatch']);
  assert.match(
    (await reads.metrics.scrape()).text,
    /identity_replays_total\{result="mismatch"\} 1/,
  );
  // Another interval is not affected, and the start of the generation is only derived.
  assert.is((await reads.texts([520])).length, 1);
  assert.is((await reads.texts([5])).length, 1);
});

for (const each of [past, refused]) each.run();
