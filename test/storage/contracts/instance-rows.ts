import type { suite as plainSuite, Test } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceHead, InstanceStore } from '#storage/ports/instances';
import { DRIFT_EVENTS, OBSERVATIONS } from '#storage/ports/rows';
import {
  checkpointAt,
  chunksOf,
  driftChunks,
  driftRows,
  headAt,
  historyChunks,
  historyRows,
  LONG,
  storeOne,
} from '#test/storage/contracts/rows';

/** Opens an empty store. */
export type Open = () => Promise<InstanceStore>;

/** Contract tests of the InstanceStore port for history and drift rows. */
export function rowsOf(name: string, open: Open, suite: typeof plainSuite): Test {
  const rows = suite(`rows in ${name}`);

  comingBack(rows, open);
  writtenAgain(rows, open);
  standingApart(rows, open);
  return rows;
}

function comingBack(rows: Test, open: Open): void {
  rows('of unknown instances do not exist', async () => {
    const store = await open();
    assert.equal(await store.readHistory('inst_a', 5, 5), []);
    assert.equal(await store.readDrift('inst_a', 5, 5), []);
  });

  rows('are returned with every field, by ordinal, newest first', async () => {
    const store = await open();
    const parts = { history: historyChunks(1, 9), drift: driftChunks(1, 4) };
    await storeOne(store, 'inst_a', checkpointAt(9, parts));
    assert.equal(await store.readHistory('inst_a', 9, 3), historyRows(7, 9).reverse());
    assert.equal(await store.readHistory('inst_a', 4, 2), historyRows(3, 4).reverse());
    assert.equal(await store.readHistory('inst_a', 2, 50), historyRows(1, 2).reverse());
    assert.equal(await store.readDrift('inst_a', 4, 1_000), driftRows(1, 4).reverse());
    assert.equal(await store.readDrift('inst_a', 3, 2), driftRows(2, 3).reverse());
  });

  rows('below the first row do not exist', async () => {
    const store = await open();
    await storeOne(store, 'inst_a', checkpointAt(3, { history: historyChunks(1, 3) }));
    assert.equal(await store.readHistory('inst_a', 0, 5), []);
    assert.equal(await store.readHistory('inst_a', 3, 0), []);
  });

  rows('of many checkpoints form one history', async () => {
    const store = await open();
    for (let last = 10; last <= 500; last += 10) {
      const parts = { history: historyChunks(last - 9, last), drift: driftChunks(last - 9, last) };
      await storeOne(store, 'inst_a', checkpointAt(last, parts));
    }
    assert.equal(await store.readHistory('inst_a', 500, 500), historyRows(1, 500).reverse());
    assert.equal(await store.readDrift('inst_a', 257, 100), driftRows(158, 257).reverse());
  });
}

function writtenAgain(rows: Test, open: Open): void {
  rows('appear once, however often and late their checkpoint is written', async () => {
    const store = await open();
    const first = checkpointAt(2, { history: historyChunks(1, 2), drift: driftChunks(1, 2) });
    const second = checkpointAt(4, { history: historyChunks(3, 4), drift: driftChunks(3, 4) });
    for (const part of [first, first, second, first, second]) {
      await storeOne(store, 'inst_a', part);
    }
    assert.equal(await store.readHistory('inst_a', 4, 10), historyRows(1, 4).reverse());
    assert.equal(await store.readDrift('inst_a', 4, 10), driftRows(1, 4).reverse());
    assert.is((await store.readHead('inst_a'))?.version, 4);
  });

  rows('of a failed attempt are part of the next attempt, and may still arrive late', async () => {
    const store = await open();
    const first = checkpointAt(5, { history: historyChunks(1, 5), drift: driftChunks(1, 2) });
    const next = checkpointAt(8, { history: historyChunks(1, 8), drift: driftChunks(1, 4) });
    for (const part of [next, first, next]) {
      await storeOne(store, 'inst_a', part);
      assert.equal(await store.readHistory('inst_a', 8, 10), historyRows(1, 8).reverse());
      assert.equal(await store.readDrift('inst_a', 4, 10), driftRows(1, 4).reverse());
      assert.equal(await store.readHead('inst_a'), headAt(8));
    }
  });

  rows('appear once, in chunks with any borders and in any order of arrival', async () => {
    const cut = (length: number) => ({
      history: chunksOf(OBSERVATIONS, historyRows(1, 120), length),
      drift: chunksOf(DRIFT_EVENTS, driftRows(1, 120), length),
    });
    for (const lengths of [
      [32, 20, 7],
      [7, 20, 32],
      [20, 32, 1],
    ]) {
      const store = await open();
      for (const [version, length] of lengths.entries()) {
        await storeOne(store, 'inst_a', checkpointAt(121 + version, cut(length)));
        assert.equal(await store.readHistory('inst_a', 120, 120), historyRows(1, 120).reverse());
        assert.equal(await store.readHistory('inst_a', 70, 9), historyRows(62, 70).reverse());
        assert.equal(await store.readDrift('inst_a', 119, 40), driftRows(80, 119).reverse());
      }
    }
  });

  rows('are found at every depth of a long history', async () => {
    const store = await open();
    for (let last = 1_500; last <= LONG; last += 1_500) {
      const parts = {
        history: historyChunks(last - 1_499, last),
        drift: driftChunks(last - 1_499, last),
      };
      await storeOne(store, 'inst_a', checkpointAt(last, parts));
    }
    for (const newest of [LONG, 8_193, 8_192, 8_191, 4_200, 4_097, 4_096, 100, 1]) {
      const expected = historyRows(Math.max(1, newest - 99), newest).reverse();
      assert.equal(await store.readHistory('inst_a', newest, 100), expected, `from ${newest}`);
    }
    assert.equal(await store.readHistory('inst_a', LONG, LONG), historyRows(1, LONG).reverse());
    assert.equal(await store.readDrift('inst_a', 4_100, 10), driftRows(4_091, 4_100).reverse());
  });
}

function standingApart(rows: Test, open: Open): void {
  rows('may have contexts of maximum size, many in one checkpoint', async () => {
    const store = await open();
    const contextJson = JSON.stringify({ text: '\u{1f600}'.repeat(2_000) });
    const history = historyRows(1, 200).map((row) => ({ ...row, contextJson }));
    await storeOne(
      store,
      'inst_a',
      checkpointAt(200, { history: chunksOf(OBSERVATIONS, history, 1) }),
    );
    assert.equal(await store.readHistory('inst_a', 200, 200), history.toReversed());
  });

  rows('are readable as soon as the head that counts these rows is readable', async () => {
    const store = await open();
    await storeOne(store, 'inst_a', checkpointAt(1, { history: historyChunks(1, 1) }));
    const writing = storeOne(store, 'inst_a', checkpointAt(2, { history: historyChunks(2, 2) }));
    let head: InstanceHead | undefined = await store.readHead('inst_a');
    while (head?.version !== 2) head = await store.readHead('inst_a');
    assert.equal(await store.readHistory('inst_a', 2, 1), historyRows(2, 2));
    await writing;
  });

  rows('are copies: a caller may change its lists after the call', async () => {
    const store = await open();
    const history = historyChunks(1, 3);
    const drift = driftChunks(1, 3);
    await storeOne(store, 'inst_a', checkpointAt(3, { history, drift }));
    history.splice(0, 3);
    drift.splice(0, 3);
    (await store.readHistory('inst_a', 3, 3)).pop();
    (await store.readDrift('inst_a', 3, 3)).pop();
    assert.equal(await store.readHistory('inst_a', 3, 3), historyRows(1, 3).reverse());
    assert.equal(await store.readDrift('inst_a', 3, 3), driftRows(1, 3).reverse());
  });
}
