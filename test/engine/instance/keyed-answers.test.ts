import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findAnswer, replayOf } from '#engine/instance/keyed-answers';
import { instanceFrom, UnstoredRows } from '#engine/instance/state';
import type { Fault } from '#errors/fault';
import type { IdempotencyKey } from '#grpc/engine-messages';
import { memoryInstanceStore } from '#storage/memory/instances';
import { ANSWER_AGE_MS, type AnswerRow, type InstanceStore } from '#storage/ports/instances';
import { CREATE, callOf, INSTANCE_ID, START_MS } from '#test/engine/instance/instance-fixture';
import { answerRow, checkpointAt, headAt, markerAt, storeOne } from '#test/storage/contracts/rows';
import { refusalOf } from '#test/support/settled';

/** A UUIDv7 with the given time. */
function uuidV7(madeAtMs: number): string {
  const hex = madeAtMs.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7abc-8def-0123456789ab`;
}

/** Looks a key up at `START_MS`. Returns the answer and the arguments of each store read. */
async function lookUp(
  key: string,
  answers: AnswerRow[] = [],
  earlierVersion: number | undefined = undefined,
  change: Pick<IdempotencyKey, 'isNameUnsure'> = {},
) {
  const asked: [string, string, number][] = [];
  const store: InstanceStore = {
    ...memoryInstanceStore(),
    async findAnswer(id, rowKey, oldestMs) {
      asked.push([id, rowKey, oldestMs]);
      return undefined;
    },
  };
  const unstored = new UnstoredRows();
  for (const row of answers) unstored.addAnswer(row);
  const state = { ...instanceFrom(headAt(1)), unstored };
  const call = callOf(CREATE, { idempotency: { key, fingerprint: 'f', ...change } });
  const turn = { wallMs: START_MS, earlierVersion };
  const found = await findAnswer(call, `call:${key}`, state, turn, store);
  return { found, asked };
}

const memory = suite('when memory has the answer for a key');

memory('the lookup finds the answer for 24 h, without a store read', async () => {
  const row = answerRow('call:k', START_MS - ANSWER_AGE_MS);
  assert.equal(await lookUp('k', [row]), { found: row, asked: [] });
});

memory(
  'a millisecond after 24 h, the lookup finds no answer and does not read the store',
  async () => {
    const row = answerRow('call:k', START_MS - ANSWER_AGE_MS - 1);
    assert.equal(await lookUp('k', [row]), { found: undefined, asked: [] });
  },
);

memory('the lookup finds the newest of several answers', async () => {
  const rows = [answerRow('call:k', 1), answerRow('call:j', 2), answerRow('call:k', START_MS)];
  assert.is((await lookUp('k', rows)).found, rows[2]);
});

const store = suite('when memory lacks the answer');

for (const [text, key, isAsked] of [
  ['a key with any text is looked up', 'order-17', true],
  ['a key of a single space is looked up', ' ', true],
  ['a UUIDv7 with the present time is not looked up', uuidV7(START_MS), false],
  ['a UUIDv7 in capitals is not looked up', uuidV7(START_MS).toUpperCase(), false],
  ['a UUIDv7 from 9.999 s ago is not looked up', uuidV7(START_MS - 9_999), false],
  ['a UUIDv7 from 10 s ago is looked up', uuidV7(START_MS - 10_000), true],
  ['a UUIDv7 from 4.999 s ahead is not looked up', uuidV7(START_MS + 4_999), false],
  ['a UUIDv7 from 5 s ahead is looked up', uuidV7(START_MS + 5_000), true],
  ['a UUIDv4 is looked up', '0198f3a2-7c11-4abc-8def-0123456789ab', true],
  ['a UUIDv7 with another variant is looked up', uuidV7(START_MS).replace('-8def', '-cdef'), true],
  ['a UUIDv7 with trailing text is looked up', `${uuidV7(START_MS)}0`, true],
] as const) {
  store(text, async () => {
    const { asked } = await lookUp(key);
    const question = [INSTANCE_ID, `call:${key}`, START_MS - ANSWER_AGE_MS];
    assert.equal(asked, isAsked ? [question] : []);
  });
}

store('a new UUIDv7 is looked up if its call was seen before', async () => {
  assert.is((await lookUp(uuidV7(START_MS), [], 3)).asked.length, 1);
});

store('a new UUIDv7 is looked up if its call may have had another id', async () => {
  const change = { isNameUnsure: true } as const;
  assert.is((await lookUp(uuidV7(START_MS), [], undefined, change)).asked.length, 1);
});

store('no key is looked up for a deleted or unknown instance', async () => {
  const rows = memoryInstanceStore();
  const answers = [answerRow('create:k', START_MS)];
  await storeOne(rows, INSTANCE_ID, checkpointAt(1, { answers }));
  const call = callOf(CREATE, { idempotency: { key: 'k', fingerprint: 'f' } });
  const turn = { wallMs: START_MS, earlierVersion: undefined };
  for (const head of [markerAt(2), undefined]) {
    assert.is(await findAnswer(call, 'create:k', instanceFrom(head), turn, rows), undefined);
  }
});

const keyed = (fingerprint: string) => callOf(CREATE, { idempotency: { key: 'k', fingerprint } });

const replay = suite('when a stored answer is replayed');

replay(
  "the replay has the first answer's body and tag, adds no cycle, and is marked as replayed",
  () => {
    const { body, etag, fingerprint } = answerRow('call:k', 5);
    const expected = { body, etag, cycles: 0, throttledRetryAfterS: 0, isReplayed: true };
    assert.equal(replayOf(answerRow('call:k', 5), keyed(fingerprint)), expected);
  },
);

replay('another request with the same key is refused, and the error names the header', async () => {
  const fault = (await refusalOf(() => replayOf(answerRow('call:k', 5), keyed('g')))) as Fault;
  assert.equal(
    [fault.code, fault.reason, fault.field],
    ['invalid_request', 'idempotency_key_reused', 'Idempotency-Key'],
  );
});

for (const group of [memory, store, replay]) group.run();
