import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { EvenPace } from '#actor-runtime/checkpointer';

const pace = suite('an even pace');

/** Counts the starts that the pace allows now. */
function begun(even: EvenPace): number {
  let count = 0;
  for (; even.mayBegin; count += 1) even.began();
  return count;
}

pace('spreads all starts evenly over the given time', () => {
  const even = new EvenPace(1_000, 500);
  const parts = Array.from({ length: 10 }, (_, i) => {
    even.earn(30, 600 + i * 100);
    return begun(even);
  });
  assert.equal(new Set(parts), new Set([3]));
});

pace('keeps the fraction of a start that is not complete yet', () => {
  const even = new EvenPace(1_000, 0);
  even.earn(4, 200);
  assert.not(even.mayBegin);
  even.earn(4, 250);
  assert.is(begun(even), 1);
});

pace('accumulates at most one start for each waiting actor', () => {
  const even = new EvenPace(1_000, 0);
  even.earn(3, 60_000);
  assert.is(begun(even), 3);
  even.earn(8, 60_500);
  even.earn(1, 60_500);
  assert.is(begun(even), 1);
});

pace('counts starts that did not wait for the pace, but delays no later start for them', () => {
  const even = new EvenPace(1_000, 0);
  even.earn(3, 1_000);
  even.began();
  assert.is(begun(even), 2);
  even.began();
  even.began();
  even.earn(10, 1_100);
  assert.is(begun(even), 1);
});

pace('delays the next start after a group of starts, but by no more than one group', () => {
  const even = new EvenPace(1_000, 0);
  even.earn(100, 20);
  even.began(10);
  even.earn(100, 100);
  assert.not(even.mayBegin, 'ten starts have been earned and used');
  even.earn(100, 110);
  assert.is(begun(even), 1);
  even.began(10);
  even.began(10);
  even.earn(100, 200);
  assert.not(even.mayBegin);
  even.earn(100, 210);
  assert.ok(even.mayBegin);
});

pace.run();
