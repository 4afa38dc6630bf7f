import { suite as plainSuite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Chunk, type InstanceStore, type NewestRows, NO_ROWS } from '#storage/ports/instances';
import { answerSlotsOf } from '#test/storage/contracts/answer-slots';
import { togetherOf } from '#test/storage/contracts/instance-batches';
import { type Open, rowsOf } from '#test/storage/contracts/instance-rows';
import { statesOf } from '#test/storage/contracts/instance-states';
import { trimmingOf } from '#test/storage/contracts/instance-trims';
import {
  answerRow,
  checkpointAt,
  driftChunks,
  headAt,
  historyChunks,
  LONG,
  markerAt,
  storeOne,
} from '#test/storage/contracts/rows';

/** Retention of an answer, in milliseconds. Source: decision 22. */
const ANSWER_AGE_MS = 24 * 60 * 60 * 1_000;

/**
 * Contract tests of the InstanceStore port for every adapter. `open` returns an empty store.
 * `suite` may be a variant of uvu's `suite` that skips all tests.
 */
export function instanceStoreContract(name: string, open: Open, suite = plainSuite): Test[] {
  const ofAnswers = [answersOf, answerSlotsOf];
  const parts = [headsOf, togetherOf, rowsOf, trimmingOf, statesOf, ...ofAnswers, deletionOf];
  return parts.map((part) => part(name, open, suite));
}

function headsOf(name: string, open: Open, suite: typeof plainSuite): Test {
  const heads = suite(`heads in ${name}`);

  holdingFields(heads, open);
  ordering(heads, open);
  return heads;
}

/** Rows of a chunk, in the form of a head's newest rows. */
function newestOf([chunk]: readonly Chunk[]): NewestRows {
  return { after: (chunk?.first ?? 1) - 1, rows: chunk?.rows ?? '' };
}

function holdingFields(heads: Test, open: Open): void {
  heads('of unknown instances are undefined', async () => {
    assert.is(await (await open()).readHead('inst_a'), undefined);
  });

  heads('are returned with every field, the model bit by bit', async () => {
    const store = await open();
    const fields = { observedAtMs: 7, generation: 3, historyStart: 1, driftStart: 1, originMs: 5 };
    const rows = { newestHistory: newestOf(historyChunks(3, 9)), newestDrift: NO_ROWS };
    const head = headAt(4, { ...fields, ...rows, historyCount: 9, driftCount: 0 });
    await storeOne(store, 'inst_a', checkpointAt(4, { head }));
    const found = await store.readHead('inst_a');
    assert.equal(found, head);
    assert.instance(found?.model, Float64Array);
    assert.ok(found?.model.every((value, index) => Object.is(value, head.model[index])));
  });

  heads('include all calls that may still be retried', async () => {
    const store = await open();
    for (const [index, count] of [0, 1, 4_096].entries()) {
      const recentCalls = Array.from({ length: count }, (_, call) => ({
        callId: 2 ** 53 - 1 - call,
        version: index + 1,
        atMs: 1_768_478_400_000 + call,
      }));
      const head = headAt(index + 1, { recentCalls });
      await storeOne(store, 'inst_a', checkpointAt(index + 1, { head }));
      assert.equal(await store.readHead('inst_a'), head);
    }
  });

  heads(
    'include their newest rows, byte by byte; readers of chunks do not find these rows',
    async () => {
      const store = await open();
      const rows = Array.from({ length: 6_144 }, (_, n) => String.fromCharCode(n % 256)).join('');
      const head = headAt(4, {
        newestHistory: { after: 2, rows },
        newestDrift: newestOf(driftChunks(1, 4)),
      });
      await storeOne(store, 'inst_a', checkpointAt(4, { head, history: historyChunks(1, 2) }));
      assert.equal(await store.readHead('inst_a'), head);
      assert.equal((await store.readHeads(['inst_a'])).get('inst_a'), head);
      assert.is((await store.readHistory('inst_a', 4, 4)).length, 2);
      assert.equal(await store.readDrift('inst_a', 4, 4), []);
    },
  );

  heads('accept texts of any length', async () => {
    const store = await open();
    const head = headAt(1, { name: '', description: '\u{1f600}é'.repeat(20_000) });
    await storeOne(store, 'inst_a', checkpointAt(1, { head }));
    assert.equal(await store.readHead('inst_a'), head);
  });
}

function ordering(heads: Test, open: Open): void {
  heads('are separate per instance', async () => {
    const store = await open();
    await storeOne(store, 'inst_a', checkpointAt(1));
    await storeOne(store, 'inst_b', checkpointAt(2));
    assert.is((await store.readHead('inst_a'))?.version, 1);
    assert.is((await store.readHead('inst_b'))?.version, 2);
  });

  heads('have the highest version, in any order of checkpoints', async () => {
    for (const order of [
      [1, 2, 3],
      [3, 2, 1],
      [2, 3, 1, 2, 3],
      [3, 1, 3],
    ]) {
      const store = await open();
      for (const version of order) await storeOne(store, 'inst_a', checkpointAt(version));
      assert.equal(await store.readHead('inst_a'), headAt(3), `stored as ${order}`);
    }
  });
}

function answersOf(name: string, open: Open, suite: typeof plainSuite): Test {
  const answers = suite(`stored answers in ${name}`);
  const start = 1_768_478_400_000;

  answers('are found by key, with every field', async () => {
    const store = await open();
    const rows = [answerRow('call:a', start), answerRow('create:a', start + 1)];
    await storeOne(store, 'inst_a', checkpointAt(2, { answers: rows }));
    assert.equal(await store.findAnswer('inst_a', 'call:a', start), rows[0]);
    assert.equal(await store.findAnswer('inst_a', 'create:a', start), rows[1]);
  });

  answers('are not found for other keys and instances', async () => {
    const store = await open();
    await storeOne(store, 'inst_a', checkpointAt(1, { answers: [answerRow('call:a', start)] }));
    assert.is(await store.findAnswer('inst_a', 'call:A', 0), undefined);
    assert.is(await store.findAnswer('inst_b', 'call:a', 0), undefined);
  });

  answers('are not found if they are older than requested', async () => {
    const store = await open();
    await storeOne(store, 'inst_a', checkpointAt(1, { answers: [answerRow('call:a', start)] }));
    assert.ok(await store.findAnswer('inst_a', 'call:a', start));
    assert.is(await store.findAnswer('inst_a', 'call:a', start + 1), undefined);
  });

  answers('stay for 24 h, whatever is stored meanwhile', async () => {
    const store = await open();
    await storeOne(store, 'inst_a', checkpointAt(1, { answers: [answerRow('call:a', start)] }));
    const later = answerRow('call:b', start + ANSWER_AGE_MS);
    await storeOne(store, 'inst_a', checkpointAt(2, { answers: [later] }));
    assert.ok(await store.findAnswer('inst_a', 'call:a', start));
    assert.ok(await store.findAnswer('inst_a', 'call:b', start));
  });

  answers('of a reused key are the newer answers', async () => {
    const store = await open();
    const again = answerRow('call:a', start + ANSWER_AGE_MS + 1, { body: '{"data":2}' });
    await storeOne(store, 'inst_a', checkpointAt(1, { answers: [answerRow('call:a', start)] }));
    await storeOne(store, 'inst_a', checkpointAt(2, { answers: [again] }));
    await storeOne(store, 'inst_a', checkpointAt(1, { answers: [answerRow('call:a', start)] }));
    assert.equal(await store.findAnswer('inst_a', 'call:a', start), again);
  });

  answers('of a key that is used twice before a checkpoint are the newer answers', async () => {
    const store = await open();
    // Several keys, so that their byte order cannot decide.
    const keys = Array.from({ length: 12 }, (_, index) => `call:${index}`);
    const old = keys.map((key, index) => answerRow(key, start + 977 * index));
    const again = keys.map((key, index) => answerRow(key, start + ANSWER_AGE_MS + 1 + 313 * index));
    await storeOne(store, 'inst_a', checkpointAt(2, { answers: [...old, ...again] }));
    const found = keys.map((key) => store.findAnswer('inst_a', key, start));
    assert.equal(await Promise.all(found), again);
  });

  storedAhead(answers, open, start);
  return answers;
}

function storedAhead(answers: Test, open: Open, start: number): void {
  answers('of several keys are found together, without missing or old answers', async () => {
    const store = await open();
    const rows = ['a', 'b', 'c'].map((key, index) => answerRow(`call:${key}`, start + index));
    await storeOne(store, 'inst_a', checkpointAt(1, { answers: rows }));
    const keys = ['call:c', 'call:none', 'call:b', 'call:a'];
    const found = await store.findAnswers('inst_a', keys, start + 1);
    const inOrder = found.toSorted((one, other) => one.atMs - other.atMs);
    assert.equal(inOrder, rows.slice(1));
    assert.equal(await store.findAnswers('inst_b', keys, 0), []);
  });

  answers('may be stored before their checkpoint', async () => {
    const store = await open();
    const [a, b, c] = [1, 2, 3].map((n) => answerRow(`call:${n}`, start + n));
    assert.ok(a !== undefined && b !== undefined && c !== undefined);
    await store.storeAnswers([
      { instanceId: 'inst_a', version: 2, answers: [a, b] },
      { instanceId: 'inst_b', version: 1, answers: [c] },
    ]);
    await store.storeAnswers([]);
    assert.is(await store.readHead('inst_a'), undefined);
    assert.equal(await store.findAnswer('inst_a', 'call:1', start), a);
    await storeOne(store, 'inst_a', checkpointAt(3, { answers: [c] }));
    const late = answerRow('call:3', start - 9, { body: '{"data":0}' });
    await store.storeAnswers([{ instanceId: 'inst_a', version: 2, answers: [late] }]);
    for (const row of [a, b, c]) {
      assert.equal(await store.findAnswer('inst_a', row.key, start), row);
    }
    assert.equal(await store.findAnswer('inst_b', 'call:3', start), c);
  });
}

function deletionOf(name: string, open: Open, suite: typeof plainSuite): Test {
  const deletion = suite(`a deleted instance in ${name}`);
  const full = (version: number) =>
    checkpointAt(version, {
      history: historyChunks(1, version),
      drift: driftChunks(1, version),
      answers: [answerRow('call:a', 5)],
    });

  deletion('leaves only its tombstone', async () => {
    const store = await open();
    await storeOne(store, 'inst_a', full(3));
    await storeOne(store, 'inst_b', full(3));
    await storeOne(store, 'inst_a', checkpointAt(4, { head: markerAt(4) }));
    assert.equal(await store.readHead('inst_a'), markerAt(4));
    await assertEmpty(store);
    assert.is((await store.readHistory('inst_b', 3, 3)).length, 3);
  });

  deletion('is not reverted by late or repeated writes', async () => {
    const store = await open();
    const marker = checkpointAt(4, { head: markerAt(4) });
    await storeOne(store, 'inst_a', full(2));
    for (const part of [marker, full(3), full(2), marker, full(3)]) {
      await storeOne(store, 'inst_a', part);
      assert.equal(await store.readHead('inst_a'), markerAt(4));
      await assertEmpty(store);
    }
  });

  deletion('has no answers, even if answers stored before a checkpoint arrive late', async () => {
    const store = await open();
    const ahead = { instanceId: 'inst_a', version: 3, answers: [answerRow('call:a', 5)] };
    await store.storeAnswers([ahead]);
    await storeOne(store, 'inst_a', checkpointAt(4, { head: markerAt(4) }));
    await assertEmpty(store);
    await store.storeAnswers([ahead]);
    assert.equal(await store.readHead('inst_a'), markerAt(4));
    await assertEmpty(store);
  });

  deletion('loses even a long history', async () => {
    const store = await open();
    await storeOne(store, 'inst_a', checkpointAt(LONG, { history: historyChunks(1, LONG) }));
    const marker = checkpointAt(LONG + 1, { head: markerAt(LONG + 1) });
    await storeOne(store, 'inst_a', marker);
    assert.equal(await store.readHistory('inst_a', LONG, LONG), []);
    assert.equal(await store.readHead('inst_a'), markerAt(LONG + 1));
  });

  deletion('leaves a tombstone even if it was never stored before', async () => {
    const store = await open();
    await storeOne(store, 'inst_a', checkpointAt(4, { head: markerAt(4) }));
    await storeOne(store, 'inst_a', full(3));
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
