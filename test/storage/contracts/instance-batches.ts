import type { suite as plainSuite, Test } from 'uvu';
import * as assert from 'uvu/assert';
import { HEADS_MAX, type InstanceCheckpoint } from '#storage/ports/instances';
import type { Open } from '#test/storage/contracts/instance-rows';
import {
  checkpointAt,
  driftChunks,
  driftRows,
  headAt,
  historyChunks,
  historyRows,
  markerAt,
  storeOne,
} from '#test/storage/contracts/rows';

/** Ids of instances in one bucket, as many as one call may have. */
const IDS = Array.from({ length: HEADS_MAX }, (_, index) => `inst_${index}`);

/** Contract tests of the InstanceStore port for several instances per call. */
export function togetherOf(name: string, open: Open, suite: typeof plainSuite): Test {
  const together = suite(`instances of one bucket in ${name}`);

  readTogether(together, open);
  storedTogether(together, open);
  return together;
}

function allAt(version: number): InstanceCheckpoint[] {
  return IDS.map((instanceId) => ({ instanceId, ...checkpointAt(version) }));
}

function readTogether(together: Test, open: Open): void {
  together('always have the same bucket', async () => {
    const store = await open();
    assert.is(new Set([...IDS, ...IDS].map((id) => store.bucketOf(id))).size, 1);
  });

  together('are read in one call, if they exist', async () => {
    const store = await open();
    assert.equal(await store.readHeads([]), new Map());
    assert.equal(await store.readHeads(IDS), new Map());
    await storeOne(store, 'inst_3', checkpointAt(1));
    await storeOne(store, 'inst_9', checkpointAt(2, { head: markerAt(2) }));
    await storeOne(store, 'other', checkpointAt(3));
    const found = await store.readHeads(IDS);
    assert.equal(
      found,
      new Map([
        ['inst_3', headAt(1)],
        ['inst_9', markerAt(2)],
      ]),
    );
  });
}

function storedTogether(together: Test, open: Open): void {
  together('are stored in one call, each with its rows', async () => {
    const store = await open();
    const parts = { history: historyChunks(1, 2), drift: driftChunks(1, 2) };
    await store.checkpoint(IDS.map((instanceId) => ({ instanceId, ...checkpointAt(2, parts) })));
    assert.equal(await store.readHeads(IDS), new Map(IDS.map((id) => [id, headAt(2)])));
    for (const id of IDS) {
      assert.equal(await store.readHistory(id, 2, 2), historyRows(1, 2).reverse());
      assert.equal(await store.readDrift(id, 2, 2), driftRows(1, 2).reverse());
    }
    await store.checkpoint([]);
  });

  together('keep their highest versions, in any order within a call', async () => {
    const store = await open();
    await storeOne(store, 'inst_1', checkpointAt(9));
    const at = (instanceId: string, version: number) => ({
      instanceId,
      ...checkpointAt(version),
    });
    const versions = [3, 1, 2].flatMap((version) =>
      ['inst_0', 'inst_1'].map((id) => at(id, version)),
    );
    await store.checkpoint([...versions, at('inst_2', 1)]);
    const expected = [
      ['inst_0', headAt(3)],
      ['inst_1', headAt(9)],
      ['inst_2', headAt(1)],
    ] as const;
    assert.equal(await store.readHeads(IDS.slice(0, 3)), new Map(expected));
  });

  together('are deleted without effect on other instances', async () => {
    const store = await open();
    const parts = { history: historyChunks(1, 2) };
    for (const id of ['inst_0', 'inst_1']) await storeOne(store, id, checkpointAt(2, parts));
    await store.checkpoint([
      { instanceId: 'inst_0', ...checkpointAt(3, { head: markerAt(3) }) },
      { instanceId: 'inst_1', ...checkpointAt(3, { history: historyChunks(3, 3) }) },
    ]);
    const found = await store.readHeads(IDS);
    assert.equal(
      found,
      new Map([
        ['inst_0', markerAt(3)],
        ['inst_1', headAt(3)],
      ]),
    );
    assert.equal(await store.readHistory('inst_0', 3, 3), []);
    assert.equal(await store.readHistory('inst_1', 3, 3), historyRows(1, 3).reverse());
  });

  together('are stored atomically, as seen by any reader', async () => {
    const store = await open();
    await store.checkpoint(allAt(1));
    for (let version = 2; version <= 6; version += 1) {
      const writing = store.checkpoint(allAt(version));
      let newest = version - 1;
      while (newest < version) {
        const heads = [...(await store.readHeads(IDS)).values()];
        const versions = new Set(heads.map((head) => head instanceof Error || head.version));
        assert.is(versions.size, 1, `versions ${[...versions]} at the same time`);
        newest = Number([...versions][0]);
      }
      await writing;
    }
  });
}
