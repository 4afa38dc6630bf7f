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

const order = suite('adds side by side');

order('keep the order in which they asked for room', async () => {
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

for (const each of [order]) each.run();
