import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cyclesByDay, dayOfMonth, daysUntil, type MonthDays } from '#limiter/meter/usage';
import { custom, meterUnderTest } from '#test/limiter/limiter-fixture';

const HOUR_MS = 60 * 60 * 1_000;
const FEBRUARY_MS = Date.UTC(2026, 1, 1);

const days = suite('the days of a month');

days('are UTC days within the month, whatever the clock shows', () => {
  const dayAt = (...at: Parameters<typeof Date.UTC>) => dayOfMonth(FEBRUARY_MS, Date.UTC(...at));
  assert.is(dayAt(2026, 0, 1), 0);
  assert.is(dayAt(2026, 0, 1, 23, 59, 59, 999), 0);
  assert.is(dayAt(2026, 0, 2), 1);
  assert.is(dayAt(2026, 0, 31, 23, 59), 30);
  assert.is(dayAt(2025, 11, 31), 0);
  assert.is(dayAt(2026, 2, 9), 30);
  assert.is(dayOfMonth(Date.UTC(2028, 2, 1), Date.UTC(2028, 1, 29)), 28);
});

days('add up to the usage, whatever the order of days and uses', () => {
  const step = fc.record({ days: fc.nat(4), cycles: fc.nat(1_000) });
  const property = fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
    const expected: number[] = Array(31).fill(0);
    let list: MonthDays;
    let [today, used] = [0, 0];
    for (const { days: passed, cycles } of steps) {
      today = Math.min(30, today + passed);
      list = daysUntil(list, used, today);
      used += cycles;
      expected[today] = (expected[today] ?? 0) + cycles;
      // A record can be written at any time, and be read by the next owner.
      list = daysUntil(list, used, today);
    }
    const found = cyclesByDay(list, used);
    assert.equal([...found, ...Array(31 - found.length).fill(0)], expected);
  });
  fc.assert(property, { numRuns: 500 });
});

const meters = suite('the days that a meter counts');

meters('are the days of settlements, across handoffs', () => {
  let meter = meterUnderTest(custom(1_000, 100_000));
  const spend = (callId: number, cycles: number) => {
    meter.admit(callId, cycles);
    meter.settle(callId, cycles);
  };
  const byDay = () => meter.meter.usage(meter.now())?.cyclesByDay.slice(14);
  assert.equal(byDay(), []);
  spend(1, 7);
  assert.equal(byDay(), [7]);
  meter.clock.advance(24 * HOUR_MS);
  spend(2, 20);
  meter.close();
  meter = meter.next();
  assert.equal(byDay(), [7, 20]);
  meter.clock.advance(48 * HOUR_MS);
  spend(3, 1);
  assert.equal(byDay(), [7, 20, 0, 1]);
});

meters("include a crash's loss on the day of its detection", () => {
  let meter = meterUnderTest(custom(1_000, 100_000));
  meter.admit(1, 5);
  meter.settle(1, 5);
  meter.clock.advance(24 * HOUR_MS);
  meter = meter.next();
  const usage = meter.meter.usage(meter.now());
  const [first = 0, second = 0] = usage?.cyclesByDay.slice(14) ?? [];
  assert.is(first + second, usage?.cyclesUsed);
  assert.ok((usage?.cyclesLost ?? 0) > 0 && second >= (usage?.cyclesLost ?? 0) - 5);
});

meters('restart with the month', () => {
  const meter = meterUnderTest(custom(1_000, 100_000));
  meter.admit(1, 5);
  meter.settle(1, 5);
  meter.clock.advance(20 * 24 * HOUR_MS);
  assert.equal(meter.meter.usage(meter.now())?.cyclesByDay, []);
  meter.admit(2, 3);
  meter.settle(2, 3);
  assert.equal(meter.meter.usage(meter.now())?.cyclesByDay, [0, 0, 0, 3]);
});

for (const part of [days, meters]) part.run();
