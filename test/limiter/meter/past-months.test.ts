import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { monthEndOf } from '#accounts/quota-windows';
import { MeterKind } from '#limiter/actors';
import { monthsOf } from '#limiter/meter/month-quota';
import { memoryMeterStore } from '#storage/memory/meters';
import { custom, meterUnderTest, record, UNNOTICED } from '#test/limiter/limiter-fixture';
import { monthAt } from '#test/storage/contracts/meter-records';

const DAY_MS = 24 * 60 * 60 * 1_000;
const JANUARY_ENDS_MS = Date.UTC(2026, 1, 1);

const sumOf = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0);

/** A meter with a plan that is never used up, in the middle of January. */
function meterInJanuary() {
  let meter = meterUnderTest(custom(1_000_000, 1_000_000));
  let calls = 0;
  return {
    get now() {
      return meter;
    },
    spend(cycles: number): void {
      calls += 1;
      meter.admit(calls, cycles);
      meter.settle(calls, cycles);
    },
    next(): void {
      meter = meter.next();
    },
    usage() {
      const usage = meter.meter.usage(meter.now());
      if (usage === undefined) throw new Error('the account is missing');
      return usage;
    },
  };
}

const turn = suite('a past month');

turn('is kept with its days and keys, which add up to its total', () => {
  const account = meterInJanuary();
  account.spend(7);
  account.now.clock.advance(2 * DAY_MS);
  account.spend(20);
  account.now.clock.advance(20 * DAY_MS);
  const { cyclesUsed, finishedMonths } = account.usage();
  assert.is(cyclesUsed, 0);
  assert.equal(
    finishedMonths.map(({ endsAtMs, cyclesByDay, keys }) => [
      endsAtMs,
      cyclesByDay.slice(14),
      keys.map((key) => key.cyclesByDay.slice(14)),
    ]),
    [[JANUARY_ENDS_MS, [7, 0, 20], [[7, 0, 20]]]],
  );
});

turn('is not kept without usage', () => {
  const account = meterInJanuary();
  account.now.admit(1, 0);
  account.now.clock.advance(20 * DAY_MS);
  assert.equal(account.usage().finishedMonths, []);
});

turn('is the same for the next owner, whether or not a record contains it', () => {
  for (const isUsedAfter of [true, false]) {
    const account = meterInJanuary();
    account.spend(7);
    account.now.clock.advance(20 * DAY_MS);
    if (isUsedAfter) account.spend(1);
    const { finishedMonths } = account.usage();
    account.now.close();
    account.next();
    assert.equal(account.usage().finishedMonths, finishedMonths);
    assert.is(sumOf(finishedMonths[0]?.cyclesByDay ?? []), 7);
  }
});

turn('has, after a crash, all cycles that its records allowed', () => {
  const account = meterInJanuary();
  account.spend(7);
  account.now.clock.advance(20 * DAY_MS);
  account.next();
  const { finishedMonths, cyclesUsed } = account.usage();
  const kept = sumOf(finishedMonths[0]?.cyclesByDay ?? []);
  assert.ok(kept >= 7 && kept <= 27, `${kept}`);
  assert.is(cyclesUsed, 0);
});

turn('is stored with the head of the meter, and then omitted from later records', async () => {
  const account = meterInJanuary();
  const store = memoryMeterStore();
  const kind = new MeterKind({
    accounts: { find: async (id) => record(custom(1, 1), { id }) },
    ...{ meters: store, clock: account.now.clock },
    events: UNNOTICED,
  });
  account.spend(7);
  account.now.clock.advance(20 * DAY_MS);
  account.spend(1);
  const before = account.usage();
  assert.is(before.finishedMonths.length, 1);
  const { copy, forget } = kind.checkpoint('a', account.now.meter);
  await kind.store([copy]);
  forget();
  assert.equal(account.usage().finishedMonths, []);
  assert.equal(monthsOf(account.usage(), await store.readMonths('a')), monthsOf(before, []));
  account.now.clock.advance(60_000);
  account.spend(500);
  assert.is(account.now.journal.head?.finished, undefined);
});

turn('is counted once, on any day and after any handoffs', () => {
  const use = fc.record({ kind: fc.constant('use'), cycles: fc.integer({ min: 1, max: 30 }) });
  const days = fc.record({ kind: fc.constant('days'), cycles: fc.nat(25) });
  const handoff = fc.constant({ kind: 'handoff', cycles: 0 });
  const property = fc.property(
    fc.array(fc.oneof(use, days, handoff), { maxLength: 40 }),
    (steps) => {
      const account = meterInJanuary();
      const expected = new Map<number, number>();
      for (const { kind, cycles } of steps) {
        const { clock } = account.now;
        if (kind === 'use') {
          account.spend(cycles);
          const month = monthEndOf(clock.wallMs());
          expected.set(month, (expected.get(month) ?? 0) + cycles);
        } else if (kind === 'days') clock.advance(cycles * DAY_MS);
        else {
          account.now.close();
          account.next();
        }
      }
      const months = monthsOf(account.usage(), []);
      const newest = [...expected].sort(([a], [b]) => b - a).slice(0, 12);
      for (const [endsAtMs, cycles] of newest) {
        const month = months.find((one) => one.endsAtMs === endsAtMs);
        assert.is(sumOf(month?.cyclesByDay ?? []), cycles);
        assert.is(sumOf(month?.keys.flatMap((key) => key.cyclesByDay) ?? []), cycles);
      }
    },
  );
  fc.assert(property, { numRuns: 300 });
});

const list = suite('the months of an account');

list('are the present month and twelve past months, from meter or store', () => {
  const account = meterInJanuary();
  account.spend(3);
  const stored = Array.from({ length: 13 }, (_, index) => monthAt(11 - index));
  const usage = account.usage();
  const ofMeter = { endsAtMs: Date.UTC(2025, 11, 1), cyclesByDay: [9], keys: [] };
  const months = monthsOf({ ...usage, finishedMonths: [ofMeter] }, stored);
  assert.is(months.length, 13);
  assert.equal(
    months.slice(0, 3).map(({ endsAtMs, cyclesByDay }) => [endsAtMs, sumOf(cyclesByDay)]),
    [
      [JANUARY_ENDS_MS, 3],
      [Date.UTC(2025, 11, 1), 9],
      [Date.UTC(2025, 10, 1), 5],
    ],
  );
});

for (const part of [turn, list]) part.run();
