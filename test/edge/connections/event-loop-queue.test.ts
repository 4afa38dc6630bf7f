import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { EventLoopQueue } from '#edge/serve/request-checks';
import { turnOfEvents } from '#test/support/settled';

const turn = suite('requests of one event-loop turn');

turn('are served after the turn, together and in order', async () => {
  const served: number[] = [];
  const queue = new EventLoopQueue();
  for (const number of [1, 2, 3]) queue.push(() => served.push(number));
  assert.equal(served, []);
  await turnOfEvents();
  assert.equal(served, [1, 2, 3]);
});

turn('that are added while others are served wait for the next turn', async () => {
  const served: string[] = [];
  const queue = new EventLoopQueue();
  queue.push(() => {
    served.push('first');
    queue.push(() => served.push('second'));
  });
  await turnOfEvents();
  assert.equal(served, ['first']);
  await turnOfEvents();
  assert.equal(served, ['first', 'second']);
});

turn.run();
