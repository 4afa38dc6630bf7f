import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type AcknowledgedBatch, IdentityEngineError } from '../src/identity-engine.ts';
import {
  done,
  numbersOf,
  observation,
  type Reply,
  refused,
  START_MS,
  sceneOf,
  timesOf,
} from './support/buffer-scene.ts';

const batches = suite('a buffer');

batches('sends the observations added within its delay as one batch per instance', async () => {
  const { buffer, clock, sent } = sceneOf();
  for (const number of [1, 2]) await buffer.add('inst_a', observation(number));
  await buffer.add('inst_b', observation(3));
  await clock.run(clock.sleep(49));
  assert.is(sent.length, 0);
  await clock.run(clock.sleep(2));
  assert.equal(sent.map(numbersOf), [[1, 2], [3]]);
  assert.equal(sent.map(timesOf), [[0, 1], [0]]);
});

batches('sends a full batch without delay, and one batch per instance at a time', async () => {
  let answer = () => {};
  const held: Reply = async (request) => {
    await new Promise<void>((resolve) => {
      answer = resolve;
    });
    return await done(request);
  };
  const { buffer, clock, sent } = sceneOf({ batchMax: 2 }, held, done);
  for (const number of [1, 2, 3, 4, 5]) await buffer.add('inst_a', observation(number));
  await clock.run(clock.sleep(1_000));
  assert.equal(sent.map(numbersOf), [[1, 2]]);
  answer();
  await clock.run(buffer.flush());
  assert.equal(sent.map(numbersOf), [[1, 2], [3, 4], [5]]);
});

batches('keeps the body of a batch below 256 KiB', async () => {
  const { buffer, clock, sent } = sceneOf();
  const context = { text: 'é'.repeat(4_000) };
  for (let number = 0; number < 60; number += 1) {
    await buffer.add('inst_a', { ...observation(number), context: { number, ...context } });
  }
  await clock.run(buffer.flush());
  assert.ok(sent.length === 2, `${sent.length}`);
  for (const { observations } of sent) {
    assert.ok(Buffer.byteLength(JSON.stringify({ observations })) <= 262_144);
  }
});

batches('limits the number of instances with a batch in flight', async () => {
  let [now, most] = [0, 0];
  const slow: Reply = async (request) => {
    now += 1;
    most = Math.max(most, now);
    await scene.clock.sleep(10);
    now -= 1;
    return await done(request);
  };
  const scene = sceneOf({ instancesAtOnce: 3 }, slow);
  for (let number = 0; number < 20; number += 1) {
    await scene.buffer.add(`inst_${number}`, observation(number));
  }
  await scene.clock.run(scene.buffer.flush());
  assert.equal([most, scene.sent.length], [3, 20]);
});

batches('sends an observation as added, even if the caller changes the object', async () => {
  const { buffer, clock, sent } = sceneOf();
  const mine = observation(1);
  await buffer.add('inst_a', mine);
  mine.signal_strength = 7;
  await clock.run(buffer.flush());
  assert.is(sent[0]?.observations[0]?.signal_strength, 0.5);
});

batches('continues after a hook throws, and reports durable batches', async () => {
  const acknowledged: AcknowledgedBatch[] = [];
  const { buffer, clock } = sceneOf({
    onAcknowledged: (batch) => {
      acknowledged.push(batch);
      throw new Error('of the hook');
    },
  });
  await buffer.add('inst_a', observation(1));
  await clock.run(buffer.flush());
  assert.is((await buffer.close()).acknowledged, 1);
  assert.is(acknowledged[0]?.result.data.processed_count, 1);
});

for (const options of [{ batchMax: 101 }, { pendingMax: 0 }, { delayMaxMs: -1 }]) {
  batches(`cannot be created with ${JSON.stringify(options)}`, () => {
    assert.throws(
      () => sceneOf(options),
      (error: Error) => error instanceof IdentityEngineError,
    );
  });
}

const spacing = suite('timestamps');

spacing(
  'that the buffer sets follow the previous timestamp by 1.000 s; others stay unchanged',
  async () => {
    const { buffer, clock, sent } = sceneOf();
    const [own, later] = ['2026-01-15T12:00:00.25+00:00', '2026-01-15T12:00:09.999999999Z'];
    await buffer.add('inst_a', observation(1, own));
    await buffer.add('inst_a', observation(2));
    await buffer.add('inst_a', observation(3, later));
    await clock.run(buffer.flush());
    const times = sent[0]?.observations.map(({ timestamp }) => timestamp);
    assert.equal(times, [own, '2026-01-15T12:00:01.250Z', later]);
    await buffer.add('inst_a', observation(4));
    await clock.run(buffer.flush());
    assert.equal(timesOf(sent[1] ?? (assert.unreachable() as never)), [10.999]);
  },
);

spacing('more than 240 s ahead of the clock are sent later', async () => {
  const { buffer, clock, sent } = sceneOf();
  for (let number = 0; number < 245; number += 1) await buffer.add('inst_a', observation(number));
  await clock.run(buffer.flush());
  const newest = sent.map((each) => (timesOf(each).at(-1) ?? 0) - each.atMs / 1_000);
  assert.ok(Math.max(...newest) <= 240, `${newest}`);
  assert.equal(
    sent.flatMap(numbersOf),
    Array.from({ length: 245 }, (_, number) => number),
  );
  assert.ok(clock.now() - START_MS >= 4_000);
});

spacing('that the service throttles are moved by Retry-After and sent with a new key', async () => {
  const throttled: Reply = () =>
    done({ observations: [] }, { 'x-throttled': 'true', 'retry-after': '7' });
  const { buffer, clock, sent } = sceneOf({}, throttled, done);
  for (const number of [1, 2]) await buffer.add('inst_a', observation(number));
  await clock.run(buffer.flush());
  assert.equal(sent.map(timesOf), [
    [0, 1],
    [7, 8],
  ]);
  assert.is.not(sent[1]?.key, sent[0]?.key);
});

spacing('that the service refuses as too far ahead are sent again later', async () => {
  const details = { reason: 'timestamp_in_future', field: 'observations[0].timestamp' };
  const { buffer, clock, sent } = sceneOf({}, refused(422, 'invalid_request', details), done);
  await buffer.add('inst_a', observation(1));
  await clock.run(buffer.flush());
  assert.equal([sent.length, (await buffer.close()).rejectedCount], [2, 0]);
});

for (const each of [batches, spacing]) each.run();
