import type { suite as plainSuite, Test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Floor,
  type InstanceStore,
  NO_ROWS_TRIMMED,
  packedState,
  type RowCounts,
} from '#storage/ports/instances';
import { DRIFT_EVENTS, OBSERVATIONS } from '#storage/ports/rows';
import type { Open } from '#test/storage/contracts/instance-rows';
import {
  answerRow,
  checkpointAt,
  chunksOf,
  driftChunks,
  driftRows,
  headAt,
  historyChunks,
  historyRows,
  LONG,
  markerAt,
  type OneCheckpoint,
  storeOne,
} from '#test/storage/contracts/rows';

/** Contract tests of the InstanceStore port for trimming. */
export function trimmingOf(name: string, open: Open, suite: typeof plainSuite): Test {
  const trimming = suite(`trimming rows in ${name}`);

  goingAway(trimming, open);
  stayingAway(trimming, open);
  return trimming;
}

/** Floor that trims the first `history` observations and `drift` events of an instance. */
function floorAt(history: number, drift: number, fields: Partial<Floor> = {}): Floor {
  const state = packedState(headAt(history).model);
  return { history, drift, generation: 2, cycle: history, timestampMs: 5.5, state, ...fields };
}

/** Checkpoint that trims an instance of `LONG` rows to `floor`. `from` is the previous floor. */
function trimmedAt(version: number, floor: Floor, from: RowCounts = NO_ROWS_TRIMMED) {
  const counts = { historyCount: LONG, driftCount: LONG };
  return checkpointAt(version, { head: headAt(version, { ...counts, floor }), trimmedFrom: from });
}

/** A store with an instance that has `LONG` rows in chunks of both tables. */
async function long(open: Open, length?: number): Promise<InstanceStore> {
  const store = await open();
  const history = chunksOf(OBSERVATIONS, historyRows(1, LONG), length);
  const drift = chunksOf(DRIFT_EVENTS, driftRows(1, LONG), length);
  await storeOne(store, 'inst_a', checkpointAt(LONG, { history, drift }));
  return store;
}

async function assertRows(store: InstanceStore, history: number, drift: number): Promise<void> {
  const all = { history: historyRows(history + 1, LONG), drift: driftRows(drift + 1, LONG) };
  assert.equal(await store.readHistory('inst_a', LONG, LONG), all.history.reverse());
  assert.equal(await store.readDrift('inst_a', LONG, LONG), all.drift.reverse());
}

function goingAway(trimming: Test, open: Open): void {
  trimming('stores the floor of a head with every field, with or without a state', async () => {
    const store = await open();
    for (const [index, state] of [undefined, packedState(headAt(7).model)].entries()) {
      const head = headAt(3 + index, { floor: floorAt(2, 1, { state }) });
      await storeOne(store, 'inst_a', checkpointAt(3 + index, { head }));
      assert.equal(await store.readHead('inst_a'), head);
      assert.equal((await store.readHeads(['inst_a'])).get('inst_a'), head);
    }
  });

  trimming('deletes rows up to any floor, and no other rows', async () => {
    const floors = [
      [32, 32],
      [33, 31],
      [0, 1],
      [4_095, 4_096],
      [4_097, 8_192],
      [8_960, 8_999],
      [LONG, LONG],
    ] as const;
    const store = await long(open);
    let from = NO_ROWS_TRIMMED;
    for (const [index, [history, drift]] of floors.entries()) {
      const to = { history: Math.max(from.history, history), drift: Math.max(from.drift, drift) };
      const floor = floorAt(to.history, to.drift);
      await storeOne(store, 'inst_a', trimmedAt(LONG + 1 + index, floor, from));
      await assertRows(store, to.history, to.drift);
      from = to;
    }
  });

  trimming('leaves rows of other instances unchanged', async () => {
    const store = await open();
    const parts = { history: historyChunks(1, 9), drift: driftChunks(1, 9) };
    await storeOne(store, 'inst_a', checkpointAt(9, parts));
    await storeOne(store, 'inst_b', checkpointAt(9, parts));
    await storeOne(store, 'inst_a', trimmedAt(10, floorAt(9, 9)));
    assert.equal(await store.readHistory('inst_a', 9, 9), []);
    assert.equal(await store.readHistory('inst_b', 9, 9), historyRows(1, 9).reverse());
    assert.equal(await store.readDrift('inst_b', 9, 9), driftRows(1, 9).reverse());
  });

  trimming('leaves answers unchanged, and stores chunks of the same checkpoint', async () => {
    const store = await open();
    const answers = [answerRow('call:a', 5)];
    await storeOne(store, 'inst_a', checkpointAt(9, { history: historyChunks(1, 9), answers }));
    const next = { ...trimmedAt(12, floorAt(5, 0)), history: historyChunks(10, 12) };
    await storeOne(store, 'inst_a', next);
    assert.equal(await store.readHistory('inst_a', 12, 7), historyRows(6, 12).reverse());
    assert.equal(await store.findAnswer('inst_a', 'call:a', 0), answers[0]);
  });

  trimming('stores the head with the new floor after the deletion', async () => {
    const store = await long(open);
    const writing = storeOne(store, 'inst_a', trimmedAt(LONG + 1, floorAt(8_000, 8_000)));
    while ((await store.readHead('inst_a'))?.floor === undefined);
    await assertRows(store, 8_000, 8_000);
    await writing;
  });
}

function stayingAway(trimming: Test, open: Open): void {
  trimming('changes nothing when a checkpoint is repeated or late', async () => {
    const store = await open();
    const at = (version: number): OneCheckpoint =>
      checkpointAt(version, {
        history: historyChunks(1, version),
        drift: driftChunks(1, version),
      });
    await storeOne(store, 'inst_a', at(40));
    const trimmed = trimmedAt(60, floorAt(40, 36));
    for (const part of [trimmed, trimmed, at(40), at(32), trimmed, at(20)]) {
      await storeOne(store, 'inst_a', part);
      assert.is((await store.readHead('inst_a'))?.version, 60);
      assert.equal(await store.readHistory('inst_a', 60, 60), []);
      assert.equal(await store.readDrift('inst_a', 60, 60), driftRows(37, 40).reverse());
    }
  });

  trimming('deletes the same rows of overlapping chunks, whatever their borders', async () => {
    for (const lengths of [
      [32, 20, 7],
      [1, 32, 20],
    ]) {
      const store = await open();
      for (const [version, length] of lengths.entries()) {
        const history = chunksOf(OBSERVATIONS, historyRows(1, 120), length);
        const drift = chunksOf(DRIFT_EVENTS, driftRows(1, 120), length);
        await storeOne(store, 'inst_a', checkpointAt(121 + version, { history, drift }));
      }
      await storeOne(store, 'inst_a', trimmedAt(130, floorAt(45, 64)));
      assert.equal(await store.readHistory('inst_a', 120, 120), historyRows(46, 120).reverse());
      assert.equal(await store.readDrift('inst_a', 120, 120), driftRows(65, 120).reverse());
      assert.equal(await store.readHistory('inst_a', 50, 5), historyRows(46, 50).reverse());
    }
  });

  trimming('leaves no row behind when the instance is deleted', async () => {
    const store = await long(open);
    await storeOne(store, 'inst_a', trimmedAt(LONG + 1, floorAt(100, 5_000)));
    await storeOne(store, 'inst_a', checkpointAt(LONG + 2, { head: markerAt(LONG + 2) }));
    assert.equal(await store.readHistory('inst_a', LONG, LONG), []);
    assert.equal(await store.readDrift('inst_a', LONG, LONG), []);
  });
}
