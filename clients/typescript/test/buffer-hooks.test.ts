import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { BufferClosedError, type ObservationBuffer } from '../src/identity-engine.ts';
import {
  done,
  numbersOf,
  observation,
  type Reply,
  refused,
  sceneOf,
} from './support/buffer-scene.ts';
import { rejection } from './support/clients.ts';

const order = suite('concurrent adds');

order('keep their order while the buffer is full', async () => {
  const { promise: acknowledged, resolve: onAcknowledged } = Promise.withResolvers<unknown>();
  const options = { pendingMax: 2, delayMaxMs: 20, onAcknowledged };
  const { buffer, clock, sent } = sceneOf(options);
  for (const number of [1, 2]) await buffer.add('inst_a', observation(number));
  const third = buffer.add('inst_a', observation(3));
  const fourth = acknowledged.then(() => buffer.add('inst_a', observation(4)));
  await clock.run(Promise.all([third, fourth]));
  await clock.run(buffer.flush());
  assert.equal(sent.flatMap(numbersOf), [1, 2, 3, 4]);
});

const hooks = suite('a hook');

const slowB: Reply = async (request) => {
  if (request.instanceId === 'inst_b') await request.clock.sleep(300);
  return await done(request);
};

/** A scene in which an observation of another instance is pending while `hook` runs. */
function hooked(hook: (buffer: ObservationBuffer) => Promise<void>) {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let isFirst = true;
  const onAcknowledged = () => {
    if (isFirst) hook(scene.buffer).then(resolve, reject);
    isFirst = false;
  };
  const scene = sceneOf({ delayMaxMs: 0, onAcknowledged }, slowB);
  const run = async () => {
    await scene.buffer.add('inst_a', observation(1));
    await scene.buffer.add('inst_b', observation(2));
    await scene.clock.run(promise);
  };
  return { ...scene, run };
}

hooks('that flushes waits for all pending observations', async () => {
  const pending: number[] = [];
  const { run } = hooked(async (buffer) => {
    await buffer.flush();
    pending.push(buffer.pending);
  });
  await run();
  assert.equal(pending, [0]);
});

hooks('that closes the buffer waits until all observations are sent', async () => {
  const results: unknown[] = [];
  const { run } = hooked(async (buffer) => {
    const { acknowledged, unacknowledged } = await buffer.close({ timeoutMs: 5_000 });
    results.push(acknowledged, unacknowledged);
  });
  await run();
  assert.equal(results, [2, []]);
});

hooks('for a rejected observation runs when the observation is no longer pending', async () => {
  const pending: number[] = [];
  const onRejected = () => pending.push(scene.buffer.pending);
  const scene = sceneOf({ onRejected }, refused(404, 'not_found'));
  for (const number of [1, 2]) await scene.buffer.add('inst_a', observation(number));
  await scene.clock.run(scene.buffer.flush());
  assert.equal(pending, [0, 0]);
});

const closing = suite('a waiting flush');

closing('throws when close hands the observations back', async () => {
  const { buffer, clock } = sceneOf({ delayMaxMs: 0 }, refused(503, 'service_unavailable'));
  await buffer.add('inst_a', observation(1));
  const flushed = rejection(buffer.flush(), BufferClosedError);
  const { unacknowledged } = await clock.run(buffer.close({ timeoutMs: 200 }));
  assert.is(unacknowledged.length, 1);
  await clock.run(flushed);
});

for (const each of [order, hooks, closing]) each.run();
