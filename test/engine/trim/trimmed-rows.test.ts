import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import type { TrimCommand } from '#grpc/engine-messages';
import { memoryInstanceStore } from '#storage/memory/instances';
import { type InstanceCheckpoint, type InstanceStore, packedState } from '#storage/ports/instances';
import {
  ANCHORED,
  chunksOfRows,
  createdInstance,
  INSTANCE_ID,
  type InstanceScene,
  instancesUnderTest,
  observed,
  type Replaced,
  START_MS,
} from '#test/engine/instance/instance-fixture';
import { trimOf } from '#test/engine/trim/trim-fixture';
import { placeOf } from '#test/support/calls/pagination';

/** A memory store whose checkpoints fail or wait on demand. */
function storeThatFails() {
  const memory = memoryInstanceStore();
  const failures = { before: false };
  const stored: InstanceCheckpoint[] = [];
  let held: Promise<void> | undefined;
  const store: InstanceStore = {
    ...memory,
    async checkpoint(checkpoints) {
      if (failures.before) throw new Fault('service_unavailable', 'the store is down');
      await held;
      stored.push(...checkpoints);
      await memory.checkpoint(checkpoints);
    },
  };
  /** Blocks checkpoints until the returned function is called. */
  const hold = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    return () => {
      held = undefined;
      resolve();
    };
  };
  return { store, failures, stored, hold };
}

const PAGE = { limit: 1_000, offset: 0, isEveryGeneration: true };

/**
 * Maximum delay until a deletion is stored, in milliseconds. For other changes, the maximum is 20
 * s.
 */
const URGENT_MS = 12_000;

/**
 * An instance with two generations of ten drifting observations. Most of the rows are in chunks.
 */
async function lived(replaced: Replaced = {}): Promise<InstanceScene> {
  const scene = await createdInstance({ chunkBounds: chunksOfRows(3), ...replaced }, ANCHORED);
  for (let n = 1; n <= 20; n += 1) {
    const mode = n % 2 === 0 ? 1 : 3;
    await scene.ask(observed({ mode, signal: 1, timestampMs: START_MS + n * 2_000 }));
    if (n === 10) await scene.ask({ kind: 'reset', mode: 'initial' });
  }
  await scene.flush();
  return scene;
}

async function all(scene: InstanceScene) {
  const history = await scene.read({ kind: 'readHistory', ...PAGE });
  const drift = await scene.read({ kind: 'readDrift', ...PAGE, isPaged: true });
  return { history, drift };
}

/** Command that deletes a scene's oldest `count` observations. */
async function trim(scene: InstanceScene, count: number): Promise<TrimCommand> {
  const { history, drift } = await all(scene);
  return trimOf(history.data.toReversed(), drift.data.toReversed(), count);
}

const trimming = suite('when the oldest rows of an instance are trimmed');

trimming('pages of any size and offset show and count the remaining rows', async () => {
  const scene = await lived();
  const before = await all(scene);
  const command = await trim(scene, 13);
  assert.ok(
    command.drift > 0 && command.drift < before.drift.data.length,
    'some drift events are trimmed',
  );
  await scene.ask(command);
  const left = before.history.data.slice(0, 7);
  for (const afterwards of [async () => undefined, scene.flush, scene.evict]) {
    await afterwards();
    for (let limit = 1; limit <= 9; limit += 2) {
      for (let offset = 0; offset <= 9; offset += 1) {
        const page = { limit, offset, isEveryGeneration: true };
        const { data, pagination } = await scene.read({ kind: 'readHistory', ...page });
        assert.equal(data, left.slice(offset, offset + limit));
        const hasMore = offset + limit < 7 && offset < 7;
        assert.equal(placeOf(pagination), { limit, offset, total: 7, has_more: hasMore });
      }
    }
    const { drift } = await all(scene);
    const total = before.drift.data.length - command.drift;
    assert.equal(drift.data, before.drift.data.slice(0, total));
    assert.is(drift.pagination.total, total);
    const newest = await scene.read({ kind: 'readDrift', ...PAGE, isPaged: false });
    assert.is(newest.pagination.total, total);
  }
});

trimming(
  'the total counts the present generation from its start, or from the floor if that is higher',
  async () => {
    const scene = await lived();
    const total = async () => {
      const page = { ...PAGE, isEveryGeneration: false };
      const { data, pagination } = await scene.read({ kind: 'readHistory', ...page });
      assert.is(data.length, pagination.total);
      return pagination.total;
    };
    const trims = [await trim(scene, 4), await trim(scene, 10), await trim(scene, 18)];
    const totals = [];
    for (const command of trims) {
      await scene.ask(command);
      totals.push(await total());
    }
    assert.equal(totals, [10, 10, 2]);
    await scene.ask({ kind: 'reset', mode: 'default' });
    assert.is(await total(), 0);
  },
);

trimming('the store deletes the rows from head and chunks within 12 s', async () => {
  const scene = await lived();
  const command = await trim(scene, 13);
  await scene.ask(command);
  await scene.pass(URGENT_MS);
  const { store } = scene;
  assert.is((await store.readHead(INSTANCE_ID))?.floor?.history, 13);
  assert.equal(await store.readHistory(INSTANCE_ID, 13, 13), []);
  assert.equal(await store.readDrift(INSTANCE_ID, command.drift, command.drift), []);
  const left = (await scene.storedRows()).map(({ ordinal }) => ordinal);
  assert.equal(left, [20, 19, 18, 17, 16, 15, 14]);
});

trimming(
  'trimming all rows empties the head too, and the instance accepts further observations',
  async () => {
    const scene = await lived();
    await scene.ask(await trim(scene, 20));
    await scene.pass(URGENT_MS);
    const head = await scene.store.readHead(INSTANCE_ID);
    assert.equal(head?.newestHistory, { after: 20, rows: '' });
    assert.is(head?.newestDrift.rows, '');
    const before = await scene.read({ kind: 'readSnapshot' });
    assert.is(before.data.cycle_count, 10);
    await scene.ask(observed({ timestampMs: START_MS + 90_000 }));
    await scene.evict();
    const { history } = await all(scene);
    assert.equal([history.pagination.total, history.data[0].cycle], [1, 11]);
  },
);

trimming('nothing else changes except the version', async () => {
  const scene = await lived();
  const everything = async () => [
    await scene.read({ kind: 'readInstance' }),
    await scene.read({ kind: 'readSnapshot' }),
    await scene.read({ kind: 'readContract' }),
  ];
  const before = await everything();
  const { version = 0, updatedAtMs } = (await scene.store.readHead(INSTANCE_ID)) ?? {};
  scene.jump(5_000);
  await scene.ask(await trim(scene, 5));
  assert.equal(await everything(), before);
  await scene.flush();
  const after = await scene.store.readHead(INSTANCE_ID);
  assert.equal([after?.version, after?.updatedAtMs], [version + 1, updatedAtMs]);
});

const again = suite('a repeated trim');

again('changes nothing, like a trim below the floor', async () => {
  const scene = await lived();
  const [low, high] = [await trim(scene, 5), await trim(scene, 9)];
  const { history, drift } = high;
  for (const [command, is_new] of [
    [high, true],
    [high, false],
    [low, false],
  ] as const) {
    assert.equal((await scene.read(command)).data, { history, drift, is_new });
  }
  await scene.flush();
  const { version } = (await scene.store.readHead(INSTANCE_ID)) ?? {};
  for (const command of [high, low]) await scene.ask(command, { callId: 0 });
  await scene.flush();
  assert.is((await scene.store.readHead(INSTANCE_ID))?.version, version);
});

again('deletes the rows of both trims if the first is not stored yet', async () => {
  const { store, failures, stored } = storeThatFails();
  const scene = await lived({ store });
  const [low, high] = [await trim(scene, 5), await trim(scene, 9)];
  failures.before = true;
  await scene.ask(low);
  await scene.pass(URGENT_MS);
  assert.is((await store.readHead(INSTANCE_ID))?.floor, undefined);
  await scene.ask(high);
  failures.before = false;
  await scene.pass(URGENT_MS);
  assert.is((await store.readHead(INSTANCE_ID))?.floor?.history, 9);
  assert.equal(stored.at(-1)?.trimmedFrom, { history: 0, drift: 0 });
  assert.equal(await store.readHistory(INSTANCE_ID, 9, 9), []);
});

again('is stored after the first trim if the store is still writing the first trim', async () => {
  const { store, hold, stored } = storeThatFails();
  const scene = await lived({ store });
  const [low, high] = [await trim(scene, 5), await trim(scene, 12)];
  await scene.ask(low);
  const release = hold();
  await scene.pass(URGENT_MS);
  await scene.ask(high);
  release();
  await scene.pass(URGENT_MS);
  assert.is((await store.readHead(INSTANCE_ID))?.floor?.history, 12);
  const { history: from } = stored.at(-1)?.trimmedFrom ?? {};
  assert.is(from, 5);
  assert.equal(await store.readHistory(INSTANCE_ID, 12, 12), []);
  const { history } = await all(scene);
  assert.is(history.pagination.total, 8);
});

const refused = suite('a trim is refused');

refused('beyond the newest row, and if drift events would reappear', async () => {
  const scene = await lived();
  const command = await trim(scene, 8);
  for (const change of [{ history: 21 }, { drift: 99 }]) {
    assert.is((await scene.refusal({ ...command, ...change })).code, 'conflict');
  }
  await scene.ask(command);
  const later = { ...command, history: 9, drift: command.drift - 1 };
  assert.is((await scene.refusal(later)).code, 'conflict');
});

refused('for another account, an unknown instance, and a deleted instance', async () => {
  const scene = await lived();
  const command = await trim(scene, 8);
  const foreign = await scene.refusal(command, { accountId: 'Acc0unt00002' });
  assert.is(foreign.code, 'not_found');
  assert.is((await instancesUnderTest().refusal(command)).code, 'not_found');
  await scene.ask({ kind: 'remove' });
  assert.is((await scene.refusal(command)).code, 'not_found');
});

const deleted = suite('a deletion after a trim');

deleted(
  'leaves only the tombstone, whether the trim was stored before or together with it',
  async () => {
    for (const isStoredBetween of [false, true]) {
      const scene = await lived();
      const command = await trim(scene, 8);
      const state = packedState(new Float64Array(94).fill(0.1));
      await scene.ask({ ...command, state });
      if (isStoredBetween) await scene.flush();
      await scene.ask({ kind: 'remove' });
      await scene.flush();
      const head = await scene.store.readHead(INSTANCE_ID);
      assert.ok(head?.deletedAtMs);
      assert.is(head?.floor, undefined);
      assert.equal(await scene.store.readHistory(INSTANCE_ID, 99, 99), []);
      assert.equal(await scene.store.readDrift(INSTANCE_ID, 99, 99), []);
    }
  },
);

for (const group of [trimming, again, refused, deleted]) group.run();
