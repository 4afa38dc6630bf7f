import { suite as plainSuite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceCheckpoint, InstanceHead, InstanceStore } from '#storage/instance-store';
import { answerRow, driftRows, headAt, historyRows, markerAt } from '#test/storage/instance-rows';

/** How long an answer is kept, in milliseconds. Source: decision 22. */
const ANSWER_AGE_MS = 24 * 60 * 60 * 1_000;

/** Rows of a long history: more than any store keeps in one place. */
const LONG = 9_000;

type Open = () => Promise<InstanceStore>;

/**
 * The promises of the InstanceStore port as suites to be run, for every adapter. `open` gives an
 * empty store, `suite` makes the suites: uvu's own, or one that skips.
 */
export function instanceStoreContract(name: string, open: Open, suite = plainSuite): Test[] {
  const parts = [headsOf, rowsOf, answersOf, deletionOf];
  return parts.map((part) => part(name, open, suite));
}

/** A checkpoint at a version with nothing but its head, unless told otherwise. */
function checkpointAt(
  version: number,
  parts: Partial<InstanceCheckpoint> = {},
): InstanceCheckpoint {
  return { head: headAt(version), history: [], drift: [], answers: [], ...parts };
}

function headsOf(name: string, open: Open, suite: typeof plainSuite): Test {
  const heads = suite(`heads in ${name}`);

  heads('of unknown instances are undefined', async () => {
    assert.is(await (await open()).readHead('inst_a'), undefined);
  });

  heads('come back with every field, the model to the last bit', async () => {
    const store = await open();
    const fields = { observedAtMs: 7, generation: 3, historyStart: 1, driftStart: 1, originMs: 5 };
    const head = headAt(4, fields);
    await store.checkpoint('inst_a', checkpointAt(4, { head }));
    const found = await store.readHead('inst_a');
    assert.equal(found, head);
    assert.instance(found?.model, Float64Array);
    assert.ok(found?.model.every((value, index) => Object.is(value, head.model[index])));
  });

  heads('know the calls that may yet be retried, however many', async () => {
    const store = await open();
    for (const [index, count] of [0, 1, 4_096].entries()) {
      const recentCalls = Array.from({ length: count }, (_, call) => ({
        callId: 2 ** 53 - 1 - call,
        version: index + 1,
        atMs: 1_768_478_400_000 + call,
      }));
      const head = headAt(index + 1, { recentCalls });
      await store.checkpoint('inst_a', checkpointAt(index + 1, { head }));
      assert.equal(await store.readHead('inst_a'), head);
    }
  });

  heads('take texts of any length', async () => {
    const store = await open();
    const head = headAt(1, { name: '', description: '\u{1f600}é'.repeat(20_000) });
    await store.checkpoint('inst_a', checkpointAt(1, { head }));
    assert.equal(await store.readHead('inst_a'), head);
  });

  heads('of one instance are not those of another', async () => {
    const store = await open();
    await store.checkpoint('inst_a', checkpointAt(1));
    await store.checkpoint('inst_b', checkpointAt(2));
    assert.is((await store.readHead('inst_a'))?.version, 1);
    assert.is((await store.readHead('inst_b'))?.version, 2);
  });

  heads('are those of the highest version, in whatever order checkpoints come', async () => {
    for (const order of [
      [1, 2, 3],
      [3, 2, 1],
      [2, 3, 1, 2, 3],
      [3, 1, 3],
    ]) {
      const store = await open();
      for (const version of order) await store.checkpoint('inst_a', checkpointAt(version));
      assert.equal(await store.readHead('inst_a'), headAt(3), `stored as ${order}`);
    }
  });

  return heads;
}

function rowsOf(name: string, open: Open, suite: typeof plainSuite): Test {
  const rows = suite(`rows in ${name}`);

  rows('of unknown instances are none', async () => {
    const store = await open();
    assert.equal(await store.readHistory('inst_a', 5, 5), []);
    assert.equal(await store.readDrift('inst_a', 5, 5), []);
  });

  rows('come back with every field, by ordinal, newest first', async () => {
    const store = await open();
    const parts = { history: historyRows(1, 9), drift: driftRows(1, 4) };
    await store.checkpoint('inst_a', checkpointAt(9, parts));
    assert.equal(await store.readHistory('inst_a', 9, 3), historyRows(7, 9).reverse());
    assert.equal(await store.readHistory('inst_a', 4, 2), historyRows(3, 4).reverse());
    assert.equal(await store.readHistory('inst_a', 2, 50), historyRows(1, 2).reverse());
    assert.equal(await store.readDrift('inst_a', 4, 1_000), driftRows(1, 4).reverse());
    assert.equal(await store.readDrift('inst_a', 3, 2), driftRows(2, 3).reverse());
  });

  rows('below the first are none', async () => {
    const store = await open();
    await store.checkpoint('inst_a', checkpointAt(3, { history: historyRows(1, 3) }));
    assert.equal(await store.readHistory('inst_a', 0, 5), []);
    assert.equal(await store.readHistory('inst_a', 3, 0), []);
  });

  rows('of many checkpoints make one history', async () => {
    const store = await open();
    for (let last = 10; last <= 500; last += 10) {
      const parts = { history: historyRows(last - 9, last), drift: driftRows(last - 9, last) };
      await store.checkpoint('inst_a', checkpointAt(last, parts));
    }
    assert.equal(await store.readHistory('inst_a', 500, 500), historyRows(1, 500).reverse());
    assert.equal(await store.readDrift('inst_a', 257, 100), driftRows(158, 257).reverse());
  });

  rows('stand once, however often and late their checkpoint is written', async () => {
    const store = await open();
    const first = checkpointAt(2, { history: historyRows(1, 2), drift: driftRows(1, 2) });
    const second = checkpointAt(4, { history: historyRows(3, 4), drift: driftRows(3, 4) });
    for (const part of [first, first, second, first, second]) {
      await store.checkpoint('inst_a', part);
    }
    assert.equal(await store.readHistory('inst_a', 4, 10), historyRows(1, 4).reverse());
    assert.equal(await store.readDrift('inst_a', 4, 10), driftRows(1, 4).reverse());
    assert.is((await store.readHead('inst_a'))?.version, 4);
  });

  rows('of a try that failed are taken along by the next, and may still come late', async () => {
    const store = await open();
    const first = checkpointAt(5, { history: historyRows(1, 5), drift: driftRows(1, 2) });
    const next = checkpointAt(8, { history: historyRows(1, 8), drift: driftRows(1, 4) });
    for (const part of [next, first, next]) {
      await store.checkpoint('inst_a', part);
      assert.equal(await store.readHistory('inst_a', 8, 10), historyRows(1, 8).reverse());
      assert.equal(await store.readDrift('inst_a', 4, 10), driftRows(1, 4).reverse());
      assert.equal(await store.readHead('inst_a'), headAt(8));
    }
  });

  rows('are found at every depth of a long history', async () => {
    const store = await open();
    for (let last = 1_500; last <= LONG; last += 1_500) {
      const parts = {
        history: historyRows(last - 1_499, last),
        drift: driftRows(last - 1_499, last),
      };
      await store.checkpoint('inst_a', checkpointAt(last, parts));
    }
    for (const newest of [LONG, 8_193, 8_192, 8_191, 4_200, 4_097, 4_096, 100, 1]) {
      const expected = historyRows(Math.max(1, newest - 99), newest).reverse();
      assert.equal(await store.readHistory('inst_a', newest, 100), expected, `from ${newest}`);
    }
    assert.equal(await store.readHistory('inst_a', LONG, LONG), historyRows(1, LONG).reverse());
    assert.equal(await store.readDrift('inst_a', 4_100, 10), driftRows(4_091, 4_100).reverse());
  });

  rows('may be as large as a context can be, many in one checkpoint', async () => {
    const store = await open();
    const contextJson = JSON.stringify({ text: '\u{1f600}'.repeat(2_000) });
    const history = historyRows(1, 200).map((row) => ({ ...row, contextJson }));
    await store.checkpoint('inst_a', checkpointAt(200, { history }));
    assert.equal(await store.readHistory('inst_a', 200, 200), history.toReversed());
  });

  rows('are there as soon as the head is that counts them', async () => {
    const store = await open();
    await store.checkpoint('inst_a', checkpointAt(1, { history: historyRows(1, 1) }));
    const writing = store.checkpoint('inst_a', checkpointAt(2, { history: historyRows(2, 2) }));
    let head: InstanceHead | undefined = await store.readHead('inst_a');
    while (head?.version !== 2) head = await store.readHead('inst_a');
    assert.equal(await store.readHistory('inst_a', 2, 1), historyRows(2, 2));
    await writing;
  });

  rows('are copies: lists that go in or come out may be changed', async () => {
    const store = await open();
    const history = historyRows(1, 3);
    const drift = driftRows(1, 3);
    await store.checkpoint('inst_a', checkpointAt(3, { history, drift }));
    history.splice(0, 3);
    drift.splice(0, 3);
    (await store.readHistory('inst_a', 3, 3)).pop();
    (await store.readDrift('inst_a', 3, 3)).pop();
    assert.equal(await store.readHistory('inst_a', 3, 3), historyRows(1, 3).reverse());
    assert.equal(await store.readDrift('inst_a', 3, 3), driftRows(1, 3).reverse());
  });

  return rows;
}

function answersOf(name: string, open: Open, suite: typeof plainSuite): Test {
  const answers = suite(`stored answers in ${name}`);
  const start = 1_768_478_400_000;

  answers('are found by their key, with every field', async () => {
    const store = await open();
    const rows = [answerRow('call:a', start), answerRow('create:a', start + 1)];
    await store.checkpoint('inst_a', checkpointAt(2, { answers: rows }));
    assert.equal(await store.findAnswer('inst_a', 'call:a', start), rows[0]);
    assert.equal(await store.findAnswer('inst_a', 'create:a', start), rows[1]);
  });

  answers('of other keys and other instances are not found', async () => {
    const store = await open();
    await store.checkpoint('inst_a', checkpointAt(1, { answers: [answerRow('call:a', start)] }));
    assert.is(await store.findAnswer('inst_a', 'call:A', 0), undefined);
    assert.is(await store.findAnswer('inst_b', 'call:a', 0), undefined);
  });

  answers('that are older than asked for are not found', async () => {
    const store = await open();
    await store.checkpoint('inst_a', checkpointAt(1, { answers: [answerRow('call:a', start)] }));
    assert.ok(await store.findAnswer('inst_a', 'call:a', start));
    assert.is(await store.findAnswer('inst_a', 'call:a', start + 1), undefined);
  });

  answers('stay for 24 h, whatever is stored meanwhile', async () => {
    const store = await open();
    await store.checkpoint('inst_a', checkpointAt(1, { answers: [answerRow('call:a', start)] }));
    const later = answerRow('call:b', start + ANSWER_AGE_MS);
    await store.checkpoint('inst_a', checkpointAt(2, { answers: [later] }));
    assert.ok(await store.findAnswer('inst_a', 'call:a', start));
    assert.ok(await store.findAnswer('inst_a', 'call:b', start));
  });

  answers('of a key that was used anew are the newer ones', async () => {
    const store = await open();
    const again = answerRow('call:a', start + ANSWER_AGE_MS + 1, { body: '{"data":2}' });
    await store.checkpoint('inst_a', checkpointAt(1, { answers: [answerRow('call:a', start)] }));
    await store.checkpoint('inst_a', checkpointAt(2, { answers: [again] }));
    await store.checkpoint('inst_a', checkpointAt(1, { answers: [answerRow('call:a', start)] }));
    assert.equal(await store.findAnswer('inst_a', 'call:a', start), again);
  });

  answers('of a key that was used twice before they were stored are the newer ones', async () => {
    const store = await open();
    // Several, so that it is not the order of their bytes that decides.
    const keys = Array.from({ length: 12 }, (_, index) => `call:${index}`);
    const old = keys.map((key, index) => answerRow(key, start + 977 * index));
    const again = keys.map((key, index) => answerRow(key, start + ANSWER_AGE_MS + 1 + 313 * index));
    await store.checkpoint('inst_a', checkpointAt(2, { answers: [...old, ...again] }));
    const found = keys.map((key) => store.findAnswer('inst_a', key, start));
    assert.equal(await Promise.all(found), again);
  });

  return answers;
}

function deletionOf(name: string, open: Open, suite: typeof plainSuite): Test {
  const deletion = suite(`a deleted instance in ${name}`);
  const full = (version: number) =>
    checkpointAt(version, {
      history: historyRows(1, version),
      drift: driftRows(1, version),
      answers: [answerRow('call:a', 5)],
    });

  deletion('leaves its marker and nothing else', async () => {
    const store = await open();
    await store.checkpoint('inst_a', full(3));
    await store.checkpoint('inst_b', full(3));
    await store.checkpoint('inst_a', checkpointAt(4, { head: markerAt(4) }));
    assert.equal(await store.readHead('inst_a'), markerAt(4));
    await assertEmpty(store);
    assert.is((await store.readHistory('inst_b', 3, 3)).length, 3);
  });

  deletion('is not brought back by what comes late or twice', async () => {
    const store = await open();
    const marker = checkpointAt(4, { head: markerAt(4) });
    await store.checkpoint('inst_a', full(2));
    for (const part of [marker, full(3), full(2), marker, full(3)]) {
      await store.checkpoint('inst_a', part);
      assert.equal(await store.readHead('inst_a'), markerAt(4));
      await assertEmpty(store);
    }
  });

  deletion('takes a long history with it', async () => {
    const store = await open();
    await store.checkpoint('inst_a', checkpointAt(LONG, { history: historyRows(1, LONG) }));
    const marker = checkpointAt(LONG + 1, { head: markerAt(LONG + 1) });
    await store.checkpoint('inst_a', marker);
    assert.equal(await store.readHistory('inst_a', LONG, LONG), []);
    assert.equal(await store.readHead('inst_a'), markerAt(LONG + 1));
  });

  deletion('that was never stored alive is a marker all the same', async () => {
    const store = await open();
    await store.checkpoint('inst_a', checkpointAt(4, { head: markerAt(4) }));
    await store.checkpoint('inst_a', full(3));
    assert.equal(await store.readHead('inst_a'), markerAt(4));
    await assertEmpty(store);
  });

  return deletion;
}

async function assertEmpty(store: InstanceStore): Promise<void> {
  assert.equal(await store.readHistory('inst_a', 9, 9), []);
  assert.equal(await store.readDrift('inst_a', 9, 9), []);
  assert.is(await store.findAnswer('inst_a', 'call:a', 0), undefined);
}
