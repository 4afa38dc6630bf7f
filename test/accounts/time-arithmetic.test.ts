import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { keyEndsAtMs } from '#accounts/account';
import { LOCAL_PLAN, limitsOf } from '#accounts/plan';
import { monthEndOf, WINDOW_MS } from '#accounts/quota-windows';
import { resetOfNewWindow, resetOfRunningWindow } from '#limiter/meter/meter';

const month = suite('the UTC month of a time');

month('ends at the first millisecond of the next month', () => {
  const end = Date.UTC(2026, 1, 1);
  assert.is(monthEndOf(Date.UTC(2026, 0, 1)), end);
  assert.is(monthEndOf(end - 1), end);
  assert.is(monthEndOf(end), Date.UTC(2026, 2, 1));
});

month('ends correctly in December and in a leap-year February', () => {
  assert.is(monthEndOf(Date.UTC(2026, 11, 31, 23, 59)), Date.UTC(2027, 0, 1));
  assert.is(monthEndOf(Date.UTC(2028, 1, 29)), Date.UTC(2028, 2, 1));
});

month('has one end for all its times, and the end is later than each time', () => {
  const time = fc.integer({ min: 0, max: Date.UTC(2100, 0) });
  fc.assert(
    fc.property(time, (atMs) => {
      const end = monthEndOf(atMs);
      assert.ok(end > atMs && end - atMs <= 31 * 86_400_000);
      assert.is(monthEndOf(end - 1), end);
    }),
  );
});

const announced = suite('the announced end of a window');

announced('is the actual end, rounded up to a second', () => {
  assert.is(resetOfNewWindow(1_000_000), 1_060);
  assert.is(resetOfNewWindow(1_000_001), 1_061);
});

announced('stays the same while both clocks run, even with different rounding', () => {
  const start = fc.integer({ min: 0, max: 2e12 });
  fc.assert(
    fc.property(
      start,
      fc.nat(WINDOW_MS - 1),
      fc.double({ min: -1, max: 1, noNaN: true }),
      (s, t, d) => {
        const first = resetOfNewWindow(s);
        const now = { wallMs: s + t, monotonicMs: Math.max(0, t + d) };
        fc.pre(first * 1_000 >= now.wallMs);
        assert.is(resetOfRunningWindow(first, WINDOW_MS, now), first);
      },
    ),
  );
});

announced('follows a stepped wall clock, and is never in the past', () => {
  const start = fc.integer({ min: 1e9, max: 2e12 });
  const step = fc.integer({ min: -1e9, max: 1e9 });
  fc.assert(
    fc.property(start, fc.nat(WINDOW_MS - 1), step, (s, t, by) => {
      const now = { wallMs: s + t + by, monotonicMs: t };
      const reset = resetOfRunningWindow(resetOfNewWindow(s), WINDOW_MS, now) * 1_000;
      assert.ok(reset >= now.wallMs, 'not in the past');
      assert.ok(reset - (now.wallMs + WINDOW_MS - t) < 2_011, 'at most 2 s after the actual end');
      assert.ok(reset - (now.wallMs + WINDOW_MS - t) >= -10, 'at most 10 ms before the actual end');
    }),
  );
});

announced('is one second later if the wall clock passes it before the window ends', () => {
  const last = { wallMs: 1_060_003, monotonicMs: WINDOW_MS - 1 };
  assert.is(resetOfRunningWindow(resetOfNewWindow(1_000_000), WINDOW_MS, last), 1_061);
});

const plan = suite('a plan');

plan('has the limits of the specification', () => {
  const free = { requestsPerMinute: 10, cyclesPerMonth: 10_000, instances: 1_000 };
  assert.equal(limitsOf({ plan: 'free' }), free);
  const indie = { requestsPerMinute: 60, cyclesPerMonth: 100_000, instances: 10_000 };
  assert.equal(limitsOf({ plan: 'indie' }), indie);
  const pro = { requestsPerMinute: 300, cyclesPerMonth: 500_000, instances: 100_000 };
  assert.equal(limitsOf({ plan: 'pro' }), pro);
});

plan('has its own limits if it is enterprise, with a million instances by default', () => {
  const local = { requestsPerMinute: 1_000_000, cyclesPerMonth: 1_000_000_000 };
  assert.equal(limitsOf(LOCAL_PLAN), { ...local, instances: 1_000_000 });
});

const key = suite('the end of a key');

key('is the expiry, infinity without an expiry, or minus infinity if the key is revoked', () => {
  const made = { id: 'key_1', digest: '', scope: 'full', createdAtMs: 5 } as const;
  assert.is(keyEndsAtMs(made), Number.POSITIVE_INFINITY);
  assert.is(keyEndsAtMs({ ...made, expiresAtMs: 7 }), 7);
  assert.is(keyEndsAtMs({ ...made, expiresAtMs: 7, revokedAtMs: 9 }), Number.NEGATIVE_INFINITY);
});

month.run();
announced.run();
plan.run();
key.run();
