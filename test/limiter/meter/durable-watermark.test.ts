import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DurableWatermark } from '#limiter/meter/usage';

/** Above all values of these watermarks. */
const LIMIT = 1_000_000;

/** A watermark with this value, set by the record at offset 1. */
function watermarkAt(value: number): DurableWatermark {
  const watermark = new DurableWatermark();
  watermark.set(value, 1);
  return watermark;
}

const offset = suite('the durability dependency of a grant below a watermark');

offset('is the record that raised the watermark to that value, or the record before', () => {
  const watermark = watermarkAt(10);
  assert.equal([watermark.offsetOf(0), watermark.offsetOf(1), watermark.offsetOf(10)], [0, 1, 1]);
  watermark.set(20, 7);
  assert.is(watermark.value, 20);
  assert.equal([watermark.offsetOf(10), watermark.offsetOf(11), watermark.offsetOf(20)], [1, 7, 7]);
});

offset('is the newest record for a value above a lowered watermark', () => {
  const watermark = watermarkAt(10);
  watermark.set(20, 2);
  watermark.set(5, 3);
  assert.equal([watermark.value, watermark.offsetOf(5), watermark.offsetOf(6)], [5, 2, 3]);
});

offset('is unchanged when the watermark is lowered', () => {
  const watermark = watermarkAt(10);
  watermark.set(20, 2);
  watermark.lower(15);
  assert.equal([watermark.value, watermark.offsetOf(10), watermark.offsetOf(11)], [15, 1, 2]);
  watermark.lower(4);
  assert.equal([watermark.value, watermark.offsetOf(4), watermark.offsetOf(5)], [4, 1, 2]);
  watermark.lower(30);
  assert.equal([watermark.value, watermark.offsetOf(4), watermark.offsetOf(5)], [4, 1, 2]);
});

const low = suite('a watermark is low');

low('when it does not cover the requested amount, also at the limit', () => {
  const watermark = watermarkAt(100);
  assert.is(watermark.isLow(101, 1, 100, 0), true);
  assert.is(watermark.isLow(100, 1, 100, 0), false);
  assert.is(watermark.isLow(100, 1, 99, 0), false);
  assert.is(watermark.isLow(100, 1, 101, 0), true, 'below the limit there is something to raise');
});

low('when less than half of the raised allowance is left', () => {
  const watermark = watermarkAt(100);
  assert.equal([watermark.isLow(91, 1, LIMIT, 0), watermark.isLow(92, 1, LIMIT, 0)], [false, true]);
  assert.equal(
    [watermark.isLow(90, 10, LIMIT, 0), watermark.isLow(91, 10, LIMIT, 0)],
    [false, true],
  );
  watermark.noteUse(40, 0);
  assert.equal([watermark.isLow(65, 1, LIMIT, 0), watermark.isLow(66, 1, LIMIT, 0)], [false, true]);
});

const raise = suite('a watermark is raised');

raise('by the larger of twice the call’s need and 1¾ steps, from before the call', () => {
  const watermark = watermarkAt(0);
  assert.is(watermark.raisedFor(1, 1, LIMIT, 0), 18);
  assert.is(watermark.raisedFor(109, 9, LIMIT, 0), 118);
  assert.is(watermark.raisedFor(110, 10, LIMIT, 0), 120);
  watermark.noteUse(11, 0);
  assert.is(watermark.raisedFor(1, 1, LIMIT, 0), 20, 'whole cycles alone can be granted');
});

raise('never above the limit except for granted amounts, and never down', () => {
  const watermark = watermarkAt(50);
  assert.is(watermark.raisedFor(41, 1, 55, 0), 55);
  assert.is(watermark.raisedFor(60, 1, 55, 0), 60);
  assert.is(watermark.raisedFor(1, 1, LIMIT, 0), 50);
});

const high = suite('a watermark is high');

high('when it leaves more than two steps, and is then lowered to a raise', () => {
  const watermark = watermarkAt(100);
  assert.equal([watermark.isHigh(80, 0), watermark.isHigh(79, 0)], [false, true]);
  assert.is(watermark.loweredFor(79, 0), 97);
  assert.is(watermark.loweredFor(90, 0), 100);
  watermark.noteUse(15, 0);
  assert.equal([watermark.isHigh(70, 0), watermark.isHigh(69, 0)], [false, true]);
});

const step = suite('the step of a watermark');

/** Steps of a watermark, derived from its lowered value: 1¾ steps, rounded up. */
const stepsOf = (watermark: DurableWatermark, monotonicMs: number) =>
  watermark.loweredFor(0, monotonicMs);

step('is the use in the present tenth of a second, or the one before, and at least ten', () => {
  const watermark = watermarkAt(1_000);
  watermark.noteUse(9, 500);
  assert.is(stepsOf(watermark, 599), 18);
  watermark.noteUse(11, 599);
  assert.is(stepsOf(watermark, 599), 35);
  assert.is(stepsOf(watermark, 600), 35);
  watermark.noteUse(12, 650);
  assert.is(stepsOf(watermark, 699), 35, 'two tenths are not added up');
  watermark.noteUse(12, 699);
  assert.is(stepsOf(watermark, 700), 42);
  assert.is(stepsOf(watermark, 800), 18, 'nothing was used in the tenth before');
});

step('is ten again after a pause of a tenth of a second', () => {
  const watermark = watermarkAt(1_000);
  watermark.noteUse(100, 0);
  assert.is(stepsOf(watermark, 200), 18);
  watermark.noteUse(100, 200);
  watermark.noteUse(1, 450);
  assert.is(stepsOf(watermark, 450), 18);
});

for (const each of [offset, low, raise, high, step]) each.run();
