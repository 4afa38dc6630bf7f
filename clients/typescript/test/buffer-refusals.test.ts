import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { IdentityEngineError } from '../src/identity-engine.ts';
import {
  done,
  numbersOf,
  observation,
  type Reply,
  refused,
  sceneOf,
} from './support/buffer-scene.ts';
import { rejection } from './support/clients.ts';

/** Refuses batches that contain one of these observations, without naming the observation. */
function refusing(...numbers: readonly number[]): Reply {
  const refusal = refused(422, 'invalid_request', { reason: 'too_deep' });
  return (sent) =>
    numbersOf(sent).some((number) => numbers.includes(Number(number))) ? refusal(sent) : done(sent);
}

const lost: Reply = () => Promise.reject(new TypeError('fetch failed'));
const reused = refused(422, 'invalid_request', {
  ...{ reason: 'idempotency_key_reused', field: 'Idempotency-Key' },
});

const unnamed = suite('a refusal that names no observation');

for (const bad of [[0], [5], [9], [2, 7], [3, 4], []]) {
  unnamed(
    `rejects only the invalid observations: ${bad.length === 0 ? 'none' : bad} of ten`,
    async () => {
      const { buffer, clock, sent } = sceneOf({}, refusing(...bad));
      for (let number = 0; number < 10; number += 1) {
        await buffer.add('inst_a', observation(number));
      }
      await clock.run(buffer.flush());
      const { acknowledged, rejected } = await clock.run(buffer.close());
      assert.is(acknowledged, 10 - bad.length);
      assert.equal(numbersOf({ observations: rejected.map((each) => each.observation) }), bad);
      const keys = sent.map(({ key }) => key);
      assert.is(new Set(keys).size, keys.length, 'each request has a new key');
      assert.ok(sent.length <= 1 + 6 * bad.length, `${sent.length} requests`);
    },
  );
}

const open = suite('a batch with an unknown outcome');

for (const [what, refusal] of [
  ['the key was used for another body', reused],
  ['the instance does not exist', refused(404, 'not_found')],
  ['the instance was deleted', refused(409, 'conflict', { reason: 'deleted' })],
] as const) {
  open(`is handed back when ${what}, with all later observations`, async () => {
    const { buffer, clock, sent } = sceneOf({ batchMax: 1 }, lost, refusal);
    for (const number of [1, 2]) await buffer.add('inst_a', observation(number));
    await clock.run(buffer.flush());
    assert.is(sent.length, 2);
    const { rejectedCount, unacknowledged } = await clock.run(buffer.close());
    assert.is(rejectedCount, 0);
    assert.equal(unacknowledged.map(numbersOf), [[1], [2]]);
    assert.equal(
      unacknowledged.map(({ mayHaveHappened }) => mayHaveHappened),
      [true, false],
    );
    assert.is(unacknowledged[0]?.idempotencyKey, sent[0]?.key);
  });
}

open('is sent again without an observation that the service refuses as invalid', async () => {
  const details = { reason: 'out_of_range', field: 'observations[0].signal_strength' };
  const refusal = refused(422, 'invalid_request', details);
  const { buffer, clock } = sceneOf({}, lost, refusal, done);
  for (const number of [1, 2]) await buffer.add('inst_a', observation(number));
  await clock.run(buffer.flush());
  const { acknowledged, rejectedCount } = await clock.run(buffer.close());
  assert.equal([acknowledged, rejectedCount], [1, 1]);
});

open('keeps its body even if a store reorders object keys', async () => {
  const first = sceneOf({}, () => new Promise(() => {}));
  const context = { zz: 1, a: { y: [{ d: 1, c: 2 }], x: null } };
  await first.buffer.add('inst_a', { ...observation(1), context });
  const { unacknowledged } = await first.clock.run(first.buffer.close({ timeoutMs: 1 }));
  const second = sceneOf();
  second.buffer.restore(reordered(unacknowledged));
  await second.clock.run(second.buffer.flush());
  assert.is(second.sent[0]?.key, first.sent[0]?.key);
  assert.is(second.sent[0]?.text, first.sent[0]?.text);
});

/** Returns the value with object keys in the order of jsonb: by length, then alphabetically. */
function reordered<T>(value: T): T {
  if (Array.isArray(value)) return value.map(reordered) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, reordered(inner)] as const);
  const order = (left: string, right: string) =>
    left.length - right.length || left.localeCompare(right);
  return Object.fromEntries(entries.toSorted(([left], [right]) => order(left, right))) as T;
}

open('is sent again after a success answer with a wrong number of observations', async () => {
  const foreign = () => done({ observations: [] });
  const { buffer, clock, sent } = sceneOf({}, foreign, done);
  await buffer.add('inst_a', observation(1));
  await clock.run(buffer.flush());
  assert.is(sent.length, 2);
  assert.is(sent[1]?.key, sent[0]?.key);
});

const invalid = suite('a value that is not an observation');

for (const value of [null, undefined, 'text', 1, [], () => 1]) {
  invalid(`is refused by add: ${typeof value} ${JSON.stringify(value)}`, async () => {
    const { buffer, clock } = sceneOf();
    await rejection(buffer.add('inst_a', value as never), IdentityEngineError);
    await buffer.add('inst_a', observation(1));
    const { acknowledged } = await clock.run(buffer.close());
    assert.is(acknowledged, 1);
  });
}

for (const each of [unnamed, open, invalid]) each.run();
