import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { memoryInstanceStore } from '#storage/memory/instances';
import type { InstanceStore } from '#storage/ports/instances';
import {
  bodyOf,
  chunksOfRows,
  createdInstance,
  INSTANCE_ID,
  type InstanceScene,
  observed,
  START_MS,
} from '#test/engine/instance/instance-fixture';
import { placeOf } from '#test/support/calls/pagination';
import { stateOf, turnOfEvents } from '#test/support/settled';

type Record = { cycle: number; generation: number; context: { n: number } };

/** Sends observations `first` to `last`, a minute apart, each with its number in the context. */
async function observe({ ask }: InstanceScene, first: number, last: number): Promise<void> {
  for (let n = first; n <= last; n += 1) {
    const timestampMs = START_MS + n * 60_000;
    await ask(observed({ mode: n % 7, contextJson: `{"n":${n}}`, timestampMs }));
  }
}

async function history(
  { read }: InstanceScene,
  limit: number,
  offset: number,
  isEveryGeneration = false,
) {
  const page = { limit, offset, isEveryGeneration };
  const { data, pagination } = await read({ kind: 'readHistory', ...page });
  return { numbers: data.map((row: Record) => row.context.n), data, pagination };
}

/** Numbers from `from` down to `to`. */
const down = (from: number, to: number) =>
  Array.from({ length: Math.max(0, from - to + 1) }, (_, index) => from - index);

const record = suite('when the history is read');

record('a record has the values and the time that were sent', async () => {
  const scene = await createdInstance();
  const contextJson = '{"text":"é\\u0000","deep":{"list":[1,2.5,null]}}';
  await scene.ask(observed({ mode: 6, signal: 0.1, confidence: 0, contextJson }));
  const answer = await scene.ask({
    kind: 'readHistory',
    limit: 100,
    offset: 0,
    isEveryGeneration: false,
  });
  assert.equal(bodyOf(answer), {
    data: [
      {
        cycle: 1,
        mode_target: 'STRESS_RESPONSE',
        signal_strength: 0.1,
        confidence: 0,
        context: JSON.parse(contextJson),
        timestamp: new Date(START_MS).toISOString(),
      },
    ],
    pagination: { limit: 100, offset: 0, total: 1, has_more: false, next_cursor: null },
  });
  assert.equal([answer.etag, answer.cycles], ['', 0]);
});

record('an instance without observations has an empty history', async () => {
  const scene = await createdInstance();
  const { data, pagination } = await history(scene, 10, 0);
  assert.equal(data, []);
  assert.equal(placeOf(pagination), { limit: 10, offset: 0, total: 0, has_more: false });
});

const straddling = suite('when only some rows are stored');

/** Ten stored rows, eight of which are in chunks, and five unstored rows. */
async function straddle(): Promise<InstanceScene> {
  const scene = await createdInstance({ chunkBounds: chunksOfRows(4) });
  await observe(scene, 1, 10);
  await scene.flush();
  await observe(scene, 11, 15);
  assert.is((await scene.storedRows()).length, 10);
  assert.is((await scene.store.readHistory(INSTANCE_ID, 99, 99)).length, 8);
  return scene;
}

straddling('pages of every size and offset have the right rows in the right order', async () => {
  const scene = await straddle();
  for (let limit = 1; limit <= 17; limit += 1) {
    for (let offset = 0; offset <= 17; offset += 1) {
      const { numbers, pagination } = await history(scene, limit, offset);
      assert.equal(numbers, down(15 - offset, Math.max(1, 16 - offset - limit)));
      const hasMore = offset + limit < 15;
      assert.equal(placeOf(pagination), { limit, offset, total: 15, has_more: hasMore });
    }
  }
});

straddling('pages stay the same after a checkpoint and after a reload', async () => {
  const scene = await straddle();
  const pages = async () => {
    const all = [];
    for (const offset of [0, 3, 5, 14]) all.push(await history(scene, 6, offset, true));
    return all;
  };
  const before = await pages();
  await scene.flush();
  assert.equal(await pages(), before);
  await scene.evict();
  assert.equal(await pages(), before);
});

straddling('a page read during a checkpoint neither misses nor repeats a row', async () => {
  const { store, gates } = gatedStore();
  const scene = await createdInstance({ store, chunkBounds: chunksOfRows(4) });
  await observe(scene, 1, 10);
  await scene.flush();
  gates.checkpoint?.resolve();
  await turnOfEvents();
  await observe(scene, 11, 15);
  await scene.pass(21_000);
  await observe(scene, 16, 18);
  assert.ok(gates.checkpoint !== undefined, 'a checkpoint is in progress');
  assert.equal((await history(scene, 20, 0)).numbers, down(18, 1));
  const reading = Promise.withResolvers<void>();
  gates.read = reading;
  const page = history(scene, 20, 0);
  assert.is(await stateOf(page), 'pending');
  gates.checkpoint?.resolve();
  await turnOfEvents();
  reading.resolve();
  assert.equal((await page).numbers, down(18, 1));
  assert.equal((await history(scene, 20, 0)).numbers, down(18, 1));
});

const generations = suite('when an instance was reset twice');

async function threeGenerations(): Promise<InstanceScene> {
  const scene = await createdInstance();
  await observe(scene, 1, 4);
  await scene.ask({ kind: 'reset', mode: 'initial' });
  await scene.flush();
  await observe(scene, 5, 7);
  await scene.ask({ kind: 'reset', mode: 'default' });
  await observe(scene, 8, 9);
  return scene;
}

generations(
  'the default page has only the present generation, and its total is the cycle count',
  async () => {
    const scene = await threeGenerations();
    const { data, numbers, pagination } = await history(scene, 10, 0);
    assert.equal(numbers, [9, 8]);
    assert.equal(
      data.map(({ cycle, generation }: Record) => [cycle, generation]),
      [
        [2, undefined],
        [1, undefined],
      ],
    );
    const { data: instance } = await scene.read({ kind: 'readInstance' });
    assert.equal([pagination.total, instance.cycle_count], [2, 2]);
  },
);

generations(
  'a page with all generations is newest first, and each record has its generation',
  async () => {
    const scene = await threeGenerations();
    const { data, pagination } = await history(scene, 10, 0, true);
    assert.equal(
      data.map(({ cycle, generation }: Record) => [generation, cycle]),
      [
        [3, 2],
        [3, 1],
        [2, 3],
        [2, 2],
        [2, 1],
        [1, 4],
        [1, 3],
        [1, 2],
        [1, 1],
      ],
    );
    assert.is(pagination.total, 9);
  },
);

/** A memory store that can delay the next checkpoint and reads. */
function gatedStore() {
  const store = memoryInstanceStore();
  const gates: {
    checkpoint: PromiseWithResolvers<void> | undefined;
    read: PromiseWithResolvers<void> | undefined;
  } = { checkpoint: undefined, read: undefined };
  const gated: InstanceStore = {
    ...store,
    async checkpoint(checkpoints) {
      gates.checkpoint = Promise.withResolvers();
      await gates.checkpoint.promise;
      gates.checkpoint = undefined;
      await store.checkpoint(checkpoints);
    },
    async readHistory(id, newest, count) {
      await gates.read?.promise;
      return store.readHistory(id, newest, count);
    },
  };
  return { store: gated, gates };
}

const large = suite('when the rows of a page are large');

/**
 * Stores rows with contexts of the given sizes, oldest first. Returns the scene and the row count
 * of each store read.
 */
async function stored(sizes: readonly number[]) {
  const reads: number[] = [];
  const memory = memoryInstanceStore();
  const store: InstanceStore = {
    ...memory,
    readHistory(id, newest, count) {
      reads.push(count);
      return memory.readHistory(id, newest, count);
    },
  };
  const scene = await createdInstance({ store });
  for (const [index, size] of sizes.entries()) {
    const contextJson = `{"n":${index + 1},"x":"${'x'.repeat(size)}"}`;
    const timestampMs = START_MS + index * 60_000;
    await scene.ask(observed({ contextJson, timestampMs }));
    if (index % 100 === 99) await scene.flush();
  }
  await scene.flush();
  return { scene, reads };
}

/** Bytes of the rows in a page. */
const bytesOf = (data: unknown[]) => Buffer.byteLength(JSON.stringify(data)) - 2;

large('a page ends before the row that would exceed 1 MiB, and reports more rows', async () => {
  const { scene, reads } = await stored(Array.from({ length: 140 }, () => 8_000));
  const { numbers, data, pagination } = await history(scene, 1_000, 0);
  assert.ok(bytesOf(data) <= 1_048_576);
  assert.ok(bytesOf(data) + bytesOf(data.slice(0, 1)) > 1_048_576);
  assert.equal(numbers, down(140, 141 - data.length));
  assert.equal(placeOf(pagination), { limit: 1_000, offset: 0, total: 140, has_more: true });
  assert.ok(reads.reduce((sum, count) => sum + count, 0) <= 144, `${reads}`);
  const rest = await history(scene, 1_000, data.length);
  assert.equal(rest.numbers, down(140 - data.length, 1));
  assert.is(rest.pagination.has_more, false);
});

large('unstored rows count towards the limit like stored rows', async () => {
  const { scene } = await stored([8_000]);
  for (let n = 2; n <= 140; n += 1) {
    const contextJson = `{"n":${n},"x":"${'é'.repeat(4_000)}"}`;
    await scene.ask(observed({ contextJson, timestampMs: START_MS + n * 60_000 }));
  }
  const { data, pagination } = await history(scene, 200, 0);
  assert.ok(data.length < 140 && bytesOf(data) <= 1_048_576);
  assert.is(pagination.has_more, true);
});

large('small rows are read in few portions, whatever the page', async () => {
  const { scene, reads } = await stored(Array.from({ length: 600 }, () => 10));
  assert.equal((await history(scene, 1_000, 0)).numbers, down(600, 1));
  // The head has the newest 24 rows.
  assert.equal(reads, [128, 256, 192]);
  assert.equal((await history(scene, 100, 17)).numbers, down(583, 484));
  assert.equal(reads.slice(3), [93]);
});

for (const group of [record, straddling, generations, large]) group.run();
