import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Mark } from '#limiter/mark';

/** More than any of these marks comes to. */
const LIMIT = 1_000_000;

/** A mark with this value, as the record at place 1 says. */
function markAt(value: number): Mark {
  const mark = new Mark();
  mark.set(value, 1);
  return mark;
}

const place = suite('what a grant below a mark rests on');

place('is the record that raised the mark so high, or the one before', () => {
  const mark = markAt(10);
  assert.equal([mark.placeOf(0), mark.placeOf(1), mark.placeOf(10)], [0, 1, 1]);
  mark.set(20, 7);
  assert.is(mark.value, 20);
  assert.equal([mark.placeOf(10), mark.placeOf(11), mark.placeOf(20)], [1, 7, 7]);
});

place('is the newest record for what a lower mark does not cover', () => {
  const mark = markAt(10);
  mark.set(20, 2);
  mark.set(5, 3);
  assert.equal([mark.value, mark.placeOf(5), mark.placeOf(6)], [5, 2, 3]);
});

place('stays what it was when the mark is lowered', () => {
  const mark = markAt(10);
  mark.set(20, 2);
  mark.lower(15);
  assert.equal([mark.value, mark.placeOf(10), mark.placeOf(11)], [15, 1, 2]);
  mark.lower(4);
  assert.equal([mark.value, mark.placeOf(4), mark.placeOf(5)], [4, 1, 2]);
  mark.lower(30);
  assert.equal([mark.value, mark.placeOf(4), mark.placeOf(5)], [4, 1, 2]);
});

const low = suite('a mark is low');

low('when it does not cover what is wanted, at the limit as well', () => {
  const mark = markAt(100);
  assert.is(mark.isLow(101, 1, 100, 0), true);
  assert.is(mark.isLow(100, 1, 100, 0), false);
  assert.is(mark.isLow(100, 1, 99, 0), false);
  assert.is(mark.isLow(100, 1, 101, 0), true, 'below the limit there is something to raise');
});

low('when less than half of what a raise allows is left', () => {
  const mark = markAt(100);
  assert.equal([mark.isLow(91, 1, LIMIT, 0), mark.isLow(92, 1, LIMIT, 0)], [false, true]);
  assert.equal([mark.isLow(90, 10, LIMIT, 0), mark.isLow(91, 10, LIMIT, 0)], [false, true]);
  mark.used(40, 0);
  assert.equal([mark.isLow(65, 1, LIMIT, 0), mark.isLow(66, 1, LIMIT, 0)], [false, true]);
});

const raise = suite('a mark is raised');

raise('by the larger of twice what the call needs and 1¾ steps, from before the call', () => {
  const mark = markAt(0);
  assert.is(mark.target(1, 1, LIMIT, 0), 18);
  assert.is(mark.target(109, 9, LIMIT, 0), 118);
  assert.is(mark.target(110, 10, LIMIT, 0), 120);
  mark.used(11, 0);
  assert.is(mark.target(1, 1, LIMIT, 0), 20, 'whole cycles alone can be granted');
});

raise('never above the limit but for what is granted, and never down', () => {
  const mark = markAt(50);
  assert.is(mark.target(41, 1, 55, 0), 55);
  assert.is(mark.target(60, 1, 55, 0), 60);
  assert.is(mark.target(1, 1, LIMIT, 0), 50);
});

const high = suite('a mark is high');

high('when it leaves more than two steps, and is lowered to what a raise allows', () => {
  const mark = markAt(100);
  assert.equal([mark.isHigh(80, 0), mark.isHigh(79, 0)], [false, true]);
  assert.is(mark.lowTarget(79, 0), 97);
  assert.is(mark.lowTarget(90, 0), 100);
  mark.used(15, 0);
  assert.equal([mark.isHigh(70, 0), mark.isHigh(69, 0)], [false, true]);
});

const step = suite('the step of a mark');

/** What a mark is lowered to from far above: 1¾ steps, rounded up. */
const stepsOf = (mark: Mark, monotonicMs: number) => mark.lowTarget(0, monotonicMs);

step('is what the present tenth of a second took, or the one before, and at least ten', () => {
  const mark = markAt(1_000);
  mark.used(9, 500);
  assert.is(stepsOf(mark, 599), 18);
  mark.used(11, 599);
  assert.is(stepsOf(mark, 599), 35);
  assert.is(stepsOf(mark, 600), 35);
  mark.used(12, 650);
  assert.is(stepsOf(mark, 699), 35, 'two tenths are not added up');
  mark.used(12, 699);
  assert.is(stepsOf(mark, 700), 42);
  assert.is(stepsOf(mark, 800), 18, 'nothing was used in the tenth before');
});

step('is ten again after a pause of a tenth of a second', () => {
  const mark = markAt(1_000);
  mark.used(100, 0);
  assert.is(stepsOf(mark, 200), 18);
  mark.used(100, 200);
  mark.used(1, 450);
  assert.is(stepsOf(mark, 450), 18);
});

for (const each of [place, low, raise, high, step]) each.run();
