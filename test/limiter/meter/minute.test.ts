import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Minute } from '#limiter/meter/meter';

/** Start of each test, at a whole second. */
const START_MS = Date.UTC(2026, 0, 15, 12);

/** The time `ms` milliseconds after the start, by both clocks. */
const at = (ms: number) => ({ wallMs: START_MS + ms, monotonicMs: 5_000 + ms });

/** Window fields of a record with 18 requests. */
const recorded = (windowEndsAtMs: number) => ({ windowEndsAtMs, windowWatermark: 18 });

const resetS = (ms: number) => (START_MS + ms) / 1_000;

const fresh = suite('a minute without requests');

fresh('has no window, and reports when a window would end', () => {
  const minute = new Minute();
  assert.is(minute.isOpen(at(0)), false);
  assert.equal([minute.requests(at(0)), minute.endsAtWallMs(at(0))], [0, 0]);
  assert.is(minute.resetAtS(at(0)), resetS(60_000));
  assert.is(minute.resetAtS(at(1)), resetS(61_000));
});

const open = suite('a window');

open('lasts for 60 s from its first request', () => {
  const minute = new Minute();
  minute.open(at(0));
  minute.count(1, at(0));
  minute.open(at(59_999));
  minute.count(1, at(59_999));
  assert.equal([minute.isOpen(at(59_999)), minute.requests(at(59_999))], [true, 2]);
  assert.is(minute.endsAtWallMs(at(30_000.4)), START_MS + 60_000);
  assert.is(minute.resetAtS(at(30_000)), resetS(60_000));
  assert.equal([minute.isOpen(at(60_000)), minute.requests(at(60_000))], [false, 0]);
  assert.is(minute.endsAtWallMs(at(60_000)), 0);
});

open('after another window starts at zero, with watermark 0', () => {
  const minute = new Minute();
  minute.open(at(0));
  minute.count(1, at(0));
  minute.watermark.set(18, 1);
  minute.open(at(60_000));
  assert.equal([minute.requests(at(60_000)), minute.watermark.value], [0, 0]);
  assert.is(minute.watermark.offsetOf(1), 0);
  assert.is(minute.resetAtS(at(60_000)), resetS(120_000));
});

open('is never shorter than 60 s, rounded up to milliseconds', () => {
  const minute = new Minute();
  minute.open(at(0.25));
  assert.equal([minute.isOpen(at(60_000.5)), minute.isOpen(at(60_001))], [true, false]);
});

open('counts its requests as use of its watermark', () => {
  const minute = new Minute();
  minute.open(at(0));
  for (let request = 0; request < 20; request += 1) minute.count(1, at(0));
  assert.is(minute.watermark.raisedFor(21, 1, 1_000, at(0).monotonicMs), 55);
});

const restored = suite('a window of an earlier activation');

restored('continues to its recorded end, with all requests up to its watermark', () => {
  const minute = new Minute();
  minute.restore(recorded(START_MS + 20_000.5), at(0.25));
  assert.equal(
    [minute.requests(at(0)), minute.watermark.value, minute.watermark.offsetOf(18)],
    [18, 18, 0],
  );
  assert.is(minute.resetAtS(at(1)), resetS(21_000));
  assert.equal([minute.isOpen(at(20_000.9)), minute.isOpen(at(20_001))], [true, false]);
});

restored('changes nothing after its recorded end', () => {
  for (const endsAtMs of [START_MS, START_MS - 1, 0]) {
    const minute = new Minute();
    minute.restore(recorded(endsAtMs), at(0));
    assert.equal([minute.isOpen(at(0)), minute.watermark.value], [false, 0]);
  }
  const minute = new Minute();
  minute.restore(recorded(START_MS + 1), at(0));
  assert.equal([minute.isOpen(at(0)), minute.isOpen(at(1))], [true, false]);
});

restored('lasts at most 60 s, whatever the clock of the earlier owner showed', () => {
  const minute = new Minute();
  minute.restore(recorded(START_MS + 3_600_000), at(0));
  assert.is(minute.resetAtS(at(0)), resetS(60_000));
  assert.equal([minute.isOpen(at(59_999)), minute.isOpen(at(60_000))], [true, false]);
});

for (const each of [fresh, open, restored]) each.run();
