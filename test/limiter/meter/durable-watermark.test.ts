import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DurableWatermark } from '#limiter/meter/usage';

/** A limit above all watermarks of these tests. */
const LIMIT = 1_000_000;

/** A watermark with this value, set by the record at offset 1. */
function watermarkAt(value: number): DurableWatermark {
  const watermark = new DurableWatermark();
  watermark.set(value, 1);
  return watermark;
}

const offset = suite('the durability dependency of a grant');

offset('is the first record that raised the watermark far enough', () => {
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

offset('does not change when the watermark is lowered', () => {
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

low('if it does not cover the requested amount, even at the limit', () => {
  const watermark = watermarkAt(100);
  assert.is(watermark.isLow(101, 1, 100, 0), true);
  assert.is(watermark.isLow(100, 1, 100, 0), false);
  assert.is(watermark.isLow(100, 1, 99, 0), false);
  assert.is(watermark.isLow(100, 1, 101, 0), true, 'below the limit, the watermark can be raised');
});

low('if less than half of a raise remains', () => {
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

raise("by twice the call's need or by 1¾ steps, whichever is larger", () => {
  const watermark = watermarkAt(0);
  assert.is(watermark.raisedFor(1, 1, LIMIT, 0), 18);
  assert.is(watermark.raisedFor(109, 9, LIMIT, 0), 118);
  assert.is(watermark.raisedFor(110, 10, LIMIT, 0), 120);
  watermark.noteUse(11, 0);
  assert.is(watermark.raisedFor(1, 1, LIMIT, 0), 20, 'only whole cycles can be granted');
});

raise('to at most the limit or the granted amount, and never lowered', () => {
  const watermark = watermarkAt(50);
  assert.is(watermark.raisedFor(41, 1, 55, 0), 55);
  assert.is(watermark.raisedFor(60, 1, 55, 0), 60);
  assert.is(watermark.raisedFor(1, 1, LIMIT, 0), 50);
});

const high = suite('a watermark is high');

high('if it leaves more than two steps, and can then be lowered', () => {
  const watermark = watermarkAt(100);
  assert.equal([watermark.isHigh(80, 0), watermark.isHigh(79, 0)], [false, true]);
  assert.is(watermark.loweredFor(79, 0), 97);
  assert.is(watermark.loweredFor(90, 0), 100);
  watermark.noteUse(15, 0);
  assert.equal([watermark.isHigh(70, 0), watermark.isHigh(69, 0)], [false, true]);
});

const step = suite('the step of a watermark');

/** The value to which an unused watermark is lowered: 1¾ steps, rounded up. It reveals the step. */
const stepsOf = (watermark: DurableWatermark, monotonicMs: number) =>
  watermark.loweredFor(0, monotonicMs);

step('is the larger use of this and the previous tenth of a second, and at least ten', () => {
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
  assert.is(stepsOf(watermark, 800), 18, 'the previous tenth had no use');
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
