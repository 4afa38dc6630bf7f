import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  IdentityEngine,
  IdentityEngineError,
  type Observation,
  ObservationBuffer,
} from '../src/identity-engine.ts';
import {
  done,
  numbersOf,
  observation,
  refused,
  START_MS,
  sceneOf,
} from './support/buffer-scene.ts';
import { rejection } from './support/clients.ts';
import { ModelServer } from './support/model-server.ts';
import { randomOf, VirtualClock } from './support/virtual-clock.ts';

const keys = suite('the key of an observation');

const keyOf = (each: Observation | undefined) =>
  (each as { idempotency_key?: string } | undefined)?.idempotency_key;

// Report 2: observations had no keys, so another batch could not recognize them.
keys('is new unless the caller gives a key', async () => {
  const { buffer, clock, sent } = sceneOf();
  await buffer.add('inst_a', { ...observation(1), idempotency_key: 'line 1 of the log' });
  await buffer.add('inst_a', observation(2));
  await clock.run(buffer.flush());
  const [first, second] = sent[0]?.observations ?? [];
  assert.is(keyOf(first), 'line 1 of the log');
  assert.match(keyOf(second) ?? '', /^[0-9a-f-]{36}$/);
});

for (const key of ['', ' a', 'é', 'x'.repeat(256), 1]) {
  keys(`is refused before anything is sent: ${JSON.stringify(key).slice(0, 20)}`, async () => {
    const { buffer } = sceneOf();
    const added = { ...observation(1), idempotency_key: key as string };
    await rejection(buffer.add('inst_a', added), IdentityEngineError);
    assert.is(buffer.pending, 0);
  });
}

// Report 2: after a crash, 50 of 80 repeated log observations were applied twice.
keys('prevents a log that is sent again from being applied twice', async () => {
  const clock = new VirtualClock(randomOf(1), START_MS);
  const server = new ModelServer(clock, randomOf(2), { rate: 0, skewMs: 0 });
  server.create('inst_a', START_MS - 86_400_000);
  const options = { apiKey: 'k', baseUrl: 'http://model.test/v1', fetch: server.fetch };
  const client = new IdentityEngine({ ...options, attemptsMax: 1 });
  const send = async (count: number) => {
    const buffer = new ObservationBuffer(client, {}, clock);
    for (let line = 0; line < count; line += 1) {
      const timestamp = new Date(START_MS - 3_600_000 + line * 2_000).toISOString();
      const added = { ...observation(line, timestamp), idempotency_key: `line ${line}` };
      await buffer.add('inst_a', added);
    }
    return await clock.run(buffer.close());
  };
  assert.is((await send(50)).acknowledged, 50);
  const again = await send(80);
  assert.equal([again.acknowledged, again.replayed, again.throttledCount], [80, 50, 0]);
  assert.equal(
    server.acceptedOf('inst_a'),
    Array.from({ length: 80 }, (_, line) => line),
  );
});

keys('that was used for another observation rejects only the new observation', async () => {
  const details = { reason: 'idempotency_key_reused', field: 'observations[1].idempotency_key' };
  const { buffer, clock, sent } = sceneOf({}, refused(422, 'invalid_request', details), done);
  for (const number of [1, 2, 3]) await buffer.add('inst_a', observation(number));
  await clock.run(buffer.flush());
  const { rejected } = await buffer.close();
  assert.equal(sent.map(numbersOf), [
    [1, 2, 3],
    [1, 3],
  ]);
  assert.is(rejected[0]?.error.reason, 'idempotency_key_reused');
});

keys('is sent again later if a node runs an earlier release', async () => {
  const details = { reason: 'unknown_field', field: 'observations[0].idempotency_key' };
  const { buffer, clock, sent } = sceneOf({}, refused(422, 'invalid_request', details), done);
  await buffer.add('inst_a', observation(1));
  await clock.run(buffer.flush());
  assert.equal([sent.length, (await buffer.close()).acknowledged], [2, 1]);
});

keys.run();
