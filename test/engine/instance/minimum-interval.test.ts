import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type IntervalBasis, presentOf, timingOf } from '#engine/instance/state';

/** Present time in Unix milliseconds. */
const NOW = 1_768_478_400_000;

/**
 * A basis with an observation `agoMs` before now by the wall clock (negative: after now). By the
 * monotonic clock, `realAgoMs` have passed since then.
 */
function observed(agoMs: number, realAgoMs = agoMs): IntervalBasis {
  const observedAtMs = NOW - agoMs;
  const leadMs = observedAtMs - 50_000;
  return {
    observedAtMs,
    nowMs: NOW,
    presentMs: presentOf(leadMs, { wallMs: NOW, monotonicMs: 50_000 + realAgoMs }),
  };
}

const FRESH: IntervalBasis = { observedAtMs: undefined, nowMs: NOW, presentMs: NOW };

const accepted = (firstMs: number) => ({ kind: 'accepted', firstMs });
const throttled = (retryAfterS: number) => ({ kind: 'throttled', retryAfterS });

const own = suite('an observation with its own timestamp');

for (const [text, callerMs, basis, expected] of [
  ['is accepted as first observation, however old', 0, FRESH, accepted(0)],
  [
    'is accepted as first observation, even in the future',
    NOW + 300_000,
    FRESH,
    accepted(NOW + 300_000),
  ],
  [
    'is accepted 1.000 s after the previous one',
    NOW - 4_000,
    observed(5_000),
    accepted(NOW - 4_000),
  ],
  [
    'waits one second if 0.999 s after the previous one',
    NOW - 4_001,
    observed(5_000),
    throttled(1),
  ],
  [
    'waits one second if it has the time of the previous one',
    NOW - 5_000,
    observed(5_000),
    throttled(1),
  ],
  ['waits two seconds if 1 ms before the previous one', NOW - 5_001, observed(5_000), throttled(2)],
  [
    'waits an hour and a second if an hour before the previous one',
    NOW - 3_605_000,
    observed(5_000),
    throttled(3_601),
  ],
  [
    'is measured by its own time, not by the present',
    NOW + 1_000,
    observed(0),
    accepted(NOW + 1_000),
  ],
  [
    'waits by its own time, however much real time has passed',
    NOW - 5_500,
    observed(5_000),
    throttled(2),
  ],
] as const) {
  own(text, () => assert.equal(timingOf(callerMs, 1, basis), expected));
}

const stamped = suite('an observation without a timestamp');

for (const [text, basis, expected] of [
  ['gets the present time', FRESH, accepted(NOW)],
  ['gets the present time long after the previous one', observed(60_000), accepted(NOW)],
  ['gets the present time 1.000 s after the previous one', observed(1_000), accepted(NOW)],
  ['waits one second 0.999 s after the previous one', observed(999), throttled(1)],
  ['waits one second directly after the previous one', observed(0), throttled(1)],
  // Decision 152 (no step back): the wall clock is behind the previous observation.
  [
    'follows the previous one by 1 s if the clock stepped back',
    observed(-60_000, 1_000),
    accepted(NOW + 61_000),
  ],
  ['waits if the clock stepped back within the last second', observed(-500, 999), throttled(1)],
  ['waits only one second after the clock stepped back', observed(-60_000, 0), throttled(1)],
  [
    'follows the previous one by 1 s if the clock is slow',
    observed(200, 1_000),
    accepted(NOW + 800),
  ],
] as const) {
  stamped(text, () => assert.equal(timingOf(undefined, 1, basis), expected));
}

stamped('waits until after a previous observation in the future, however long this takes', () => {
  const basis = { observedAtMs: NOW + 200_000, nowMs: NOW, presentMs: NOW };
  assert.equal(timingOf(undefined, 1, basis), throttled(201));
});

const batch = suite('a batch without timestamps');

for (const [text, count, basis, expected] of [
  ['ends now', 5, FRESH, accepted(NOW - 4_000)],
  [
    'ends now if the previous observation leaves enough time',
    5,
    observed(5_000),
    accepted(NOW - 4_000),
  ],
  [
    'starts 1 s after the previous observation if time is short',
    5,
    observed(3_000),
    accepted(NOW - 2_000),
  ],
  ['is accepted 1.000 s after the previous observation', 100, observed(1_000), accepted(NOW)],
  [
    'is throttled as a whole 0.999 s after the previous observation',
    100,
    observed(999),
    throttled(1),
  ],
  ['with one observation is treated like a single call', 1, observed(5_000), accepted(NOW)],
  [
    'starts 1 s after the previous observation if the clock stepped back',
    3,
    observed(-10_000, 1_500),
    accepted(NOW + 11_000),
  ],
] as const) {
  batch(text, () => assert.equal(timingOf(undefined, count, basis), expected));
}

const timed = suite('a batch with timestamps');

timed('is checked only by its first timestamp', () => {
  assert.equal(timingOf(NOW - 4_000, 9, observed(5_000)), accepted(NOW - 4_000));
  assert.equal(timingOf(NOW - 4_001, 9, observed(5_000)), throttled(1));
});

const always = suite('for any observation times');

const basis: fc.Arbitrary<IntervalBasis> = fc
  .record({
    observedAtMs: fc.option(fc.integer({ min: NOW - 10_000, max: NOW + 10_000 }), {
      nil: undefined,
    }),
    nowMs: fc.integer({ min: NOW - 5_000, max: NOW + 5_000 }),
    steppedMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 5_000 })),
  })
  .map(({ observedAtMs, nowMs, steppedMs }) => {
    return { observedAtMs, nowMs, presentMs: nowMs + steppedMs };
  });
const callerMs = fc.option(fc.integer({ min: NOW - 12_000, max: NOW + 12_000 }), {
  nil: undefined,
});
const count = fc.integer({ min: 1, max: 100 });

always("accepted times are at least 1 s apart, and a caller's time is never changed", () => {
  fc.assert(
    fc.property(callerMs, count, basis, (caller, n, known) => {
      const timing = timingOf(caller, n, known);
      if (timing.kind === 'throttled') return;
      if (caller !== undefined) assert.is(timing.firstMs, caller);
      if (known.observedAtMs !== undefined) {
        assert.ok(timing.firstMs >= known.observedAtMs + 1_000);
      }
    }),
    { numRuns: 1_000 },
  );
});

always('the returned waiting time suffices, and a second less does not', () => {
  const seconds = fc.integer({ min: -12, max: 12 }).map((s) => NOW + s * 1_000);
  fc.assert(
    fc.property(fc.oneof(callerMs, seconds), basis, (caller, known) => {
      const timing = timingOf(caller, 1, known);
      if (timing.kind === 'accepted') return;
      assert.ok(Number.isInteger(timing.retryAfterS) && timing.retryAfterS >= 1);
      const later = (s: number) =>
        timingOf(caller === undefined ? undefined : caller + s * 1_000, 1, {
          ...known,
          nowMs: known.nowMs + s * 1_000,
          presentMs: known.presentMs + s * 1_000,
        });
      assert.is(later(timing.retryAfterS).kind, 'accepted');
      assert.is(later(timing.retryAfterS - 1).kind, 'throttled');
    }),
    { numRuns: 1_000 },
  );
});

always('an observation one second before the present never blocks an instance', () => {
  fc.assert(
    fc.property(basis, count, (known, n) => {
      const observedAtMs = known.presentMs - 1_000;
      assert.is(timingOf(undefined, n, { ...known, observedAtMs }).kind, 'accepted');
    }),
    { numRuns: 1_000 },
  );
});

always('a time set by the engine is at most the present', () => {
  fc.assert(
    fc.property(basis, count, (known, n) => {
      const timing = timingOf(undefined, n, known);
      if (timing.kind === 'accepted') assert.ok(timing.firstMs <= known.presentMs);
    }),
    { numRuns: 1_000 },
  );
});

always('a batch ends in the future only if its spacing requires this', () => {
  fc.assert(
    fc.property(count, basis, (n, known) => {
      const timing = timingOf(undefined, n, known);
      if (timing.kind === 'throttled') return;
      const lastMs = timing.firstMs + (n - 1) * 1_000;
      const earliestMs = (known.observedAtMs ?? Number.NEGATIVE_INFINITY) + 1_000;
      assert.ok(lastMs >= known.nowMs, 'the batch ends now or later');
      assert.ok(
        lastMs === known.nowMs || timing.firstMs === earliestMs,
        'the batch ends later only if time is short',
      );
    }),
    { numRuns: 1_000 },
  );
});

for (const group of [own, stamped, batch, timed, always]) group.run();
