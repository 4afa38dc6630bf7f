import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { BufferClosedError, NotFoundError, UnauthorizedError } from '../src/identity-engine.ts';
import {
  done,
  numbersOf,
  observation,
  type Reply,
  refused,
  START_MS,
  sceneOf,
} from './support/buffer-scene.ts';
import { rejection } from './support/clients.ts';

const refusals = suite('a refusal');

refusals(
  'of one observation rejects only this observation; the others are sent with a new key',
  async () => {
    const details = { reason: 'out_of_range', field: 'observations[1].signal_strength' };
    const { buffer, clock, sent } = sceneOf({}, refused(422, 'invalid_request', details), done);
    for (const number of [1, 2, 3]) await buffer.add('inst_a', observation(number));
    await clock.run(buffer.flush());
    assert.equal(sent.map(numbersOf), [
      [1, 2, 3],
      [1, 3],
    ]);
    assert.is.not(sent[1]?.key, sent[0]?.key);
    const { rejected } = await buffer.close();
    assert.is(rejected[0]?.error.reason, 'out_of_range');
    assert.equal(
      rejected.map((each) => [each.instanceId, numbersOf({ observations: [each.observation] })]),
      [['inst_a', [2]]],
    );
  },
);

refusals('for an unknown instance rejects only the observations of this instance', async () => {
  const gone: Reply = (request) =>
    request.instanceId === 'inst_a' ? refused(404, 'not_found')(request) : done(request);
  const { buffer, clock } = sceneOf({ batchMax: 2 }, gone);
  for (const number of [1, 2, 3]) await buffer.add('inst_a', observation(number));
  await buffer.add('inst_b', observation(4));
  await clock.run(buffer.flush());
  const { acknowledged, rejected } = await buffer.close();
  assert.equal([acknowledged, rejected.length], [1, 3]);
  assert.instance(rejected[0]?.error, NotFoundError);
});

refusals(
  'of the API key stops the buffer, and close hands the added observations back',
  async () => {
    const { buffer, clock } = sceneOf({ pendingMax: 2 }, refused(401, 'unauthorized'));
    for (const number of [1, 2]) await buffer.add('inst_a', observation(number));
    const waiting = buffer.add('inst_a', observation(3));
    waiting.catch(() => undefined);
    await rejection(clock.run(buffer.flush()), UnauthorizedError);
    await rejection(waiting, UnauthorizedError);
    await rejection(buffer.add('inst_a', observation(4)), UnauthorizedError);
    assert.instance(buffer.error, UnauthorizedError);
    const { unacknowledged } = await clock.run(buffer.close());
    assert.equal(unacknowledged.map(numbersOf), [[1, 2]]);
    assert.is(unacknowledged[0]?.mayHaveHappened, false);
  },
);

refusals('for an exhausted quota pauses all instances for a minute', async () => {
  const poor = refused(429, 'quota_exceeded', {}, { 'retry-after': '2000000' });
  const { buffer, clock, sent } = sceneOf({ instancesAtOnce: 1 }, poor, done);
  for (const id of ['inst_a', 'inst_b']) await buffer.add(id, observation(1));
  await clock.run(buffer.flush());
  assert.is(sent.length, 3);
  for (const { atMs } of sent.slice(1)) assert.ok(atMs >= 60_000 && atMs < 61_000, `${atMs}`);
});

const bounded = suite('a buffer with `pendingMax`');

bounded('makes add calls wait in order until there is space', async () => {
  const { buffer, clock, sent } = sceneOf({ pendingMax: 1 });
  const adds = [1, 2, 3].map((number) => buffer.add('inst_a', observation(number)));
  await clock.run(Promise.all(adds));
  await clock.run(buffer.flush());
  assert.equal(sent.map(numbersOf), [[1], [2], [3]]);
});

bounded('drops the observation of a waiting add that is cancelled', async () => {
  const { buffer, clock, sent } = sceneOf({ pendingMax: 1 });
  await buffer.add('inst_a', observation(1));
  const controller = new AbortController();
  const second = buffer.add('inst_a', observation(2), { signal: controller.signal });
  const third = buffer.add('inst_a', observation(3));
  controller.abort(new Error('enough'));
  assert.is((await rejection(second, Error)).message, 'enough');
  await clock.run(third);
  await clock.run(buffer.flush());
  assert.equal(sent.map(numbersOf), [[1], [3]]);
});

bounded('keeps at most `pendingMax` rejected observations, but counts all', async () => {
  const { buffer, clock } = sceneOf({ pendingMax: 2 }, refused(404, 'not_found'));
  for (const number of [1, 2, 3]) {
    await buffer.add('inst_a', observation(number));
    await clock.run(buffer.flush());
  }
  const { rejected, rejectedCount } = await buffer.close();
  assert.equal([rejected.length, rejectedCount], [2, 3]);
});

const closing = suite('a closed buffer');

closing('accepts no more observations, and every close returns the same result', async () => {
  const { buffer, clock } = sceneOf();
  await buffer.add('inst_a', observation(1));
  const [first, second] = [buffer.close(), buffer.close()];
  await rejection(buffer.add('inst_a', observation(2)), BufferClosedError);
  assert.is(await clock.run(first), await second);
  assert.equal([(await first).acknowledged, (await first).unacknowledged], [1, []]);
});

closing('hands back the batch in flight unchanged, and then the other observations', async () => {
  const silent: Reply = () => new Promise(() => {});
  const { buffer, clock, sent } = sceneOf({ batchMax: 2 }, silent);
  for (const number of [1, 2, 3]) await buffer.add('inst_a', observation(number));
  // This fake `fetch` ignores its signal.
  const { unacknowledged } = await clock.run(buffer.close({ timeoutMs: 1_000 }));
  assert.equal(unacknowledged.map(numbersOf), [[1, 2], [3]]);
  assert.equal(
    unacknowledged.map(({ mayHaveHappened }) => mayHaveHappened),
    [true, false],
  );
  assert.is(unacknowledged[0]?.idempotencyKey, sent[0]?.key);
  assert.equal(unacknowledged[0]?.observations, sent[0]?.observations);
});

const restored = suite('a batch that was handed back');

const handedBack = (sentAtMs: number) => ({
  ...{ instanceId: 'inst_a', idempotencyKey: 'of before', mayHaveHappened: true, sentAtMs },
  observations: [{ ...observation(1, '2026-01-15T11:00:00.000Z'), idempotency_key: 'of item 1' }],
  timestampsFrom: ['caller' as const],
});

restored('is sent first, unchanged and with the same key', async () => {
  const { buffer, clock, sent } = sceneOf();
  await buffer.add('inst_a', observation(2));
  buffer.restore([handedBack(START_MS - 60_000)]);
  await clock.run(buffer.flush());
  assert.equal(sent.map(numbersOf), [[1], [2]]);
  assert.is(sent[0]?.key, 'of before');
  assert.equal(sent[0]?.observations, handedBack(0).observations);
});

restored(
  'with an expired key is not sent, and blocks later observations of the instance',
  async () => {
    const { buffer, clock, sent } = sceneOf();
    const old = handedBack(START_MS - 24 * 3_600_000);
    buffer.restore([old]);
    await buffer.add('inst_a', observation(2));
    await buffer.add('inst_b', observation(3));
    await clock.run(buffer.flush());
    assert.equal(sent.map(numbersOf), [[3]]);
    const { unacknowledged } = await clock.run(buffer.close());
    assert.equal(unacknowledged[0], old);
    assert.equal(unacknowledged.map(numbersOf), [[1], [2]]);
  },
);

for (const each of [refusals, bounded, closing, restored]) each.run();
