import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { judgeClock } from '#stdlib/clock';

const YEARS_MS = 10 * 365 * 86_400_000;

const verdictOf = (own: number, ...others: number[]): string => judgeClock({ own, others }).verdict;

const agreement = suite('a clock among others');

agreement('is unsure with fewer than two other clocks', () => {
  assert.is(verdictOf(0), 'unsure');
  assert.is(verdictOf(YEARS_MS, 0), 'unsure');
});

agreement('deviates if it differs by more than 60 s from the median of the others', () => {
  for (const direction of [1, -1]) {
    assert.is(verdictOf(direction * 60_000, 0, 0), 'agreed');
    assert.is(verdictOf(direction * 60_001, 0, 0), 'deviating');
    assert.is(verdictOf(direction * YEARS_MS, 0, 5, -5), 'deviating');
  }
});

agreement('does not deviate because of one wrong clock among two or more others', () => {
  for (const wrong of [YEARS_MS, -YEARS_MS]) {
    assert.is(verdictOf(0, 0, wrong), 'agreed');
    assert.is(verdictOf(0, 1_000, -1_000, wrong), 'agreed');
    assert.is(verdictOf(wrong, 0, 0), 'deviating');
  }
});

agreement('deviates only if more clocks agree with each other than with it', () => {
  const far = 5 * 86_400_000;
  assert.is(verdictOf(0, 0, far, far), 'unsure', 'two against two');
  assert.is(verdictOf(far, far, 0, 0), 'unsure', 'the others come to the same verdict');
  assert.is(verdictOf(0, far, -far), 'unsure', 'all three clocks differ');
  assert.is(verdictOf(0, 0, far, far, far), 'deviating');
  assert.is(verdictOf(far, far, far, 0, 0), 'agreed');
});

agreement('never deviates together with all others, whatever the times are', () => {
  const clocks = fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 1, maxLength: 9 });
  fc.assert(
    fc.property(clocks, (tens) => {
      const shown = tens.map((ten) => ten * 20_000);
      const verdicts = shown.map((own, at) => verdictOf(own, ...shown.toSpliced(at, 1)));
      assert.ok(verdicts.some((verdict) => verdict !== 'deviating'));
    }),
    { numRuns: 2_000 },
  );
});

agreement('reports how far it is ahead', () => {
  assert.is(judgeClock({ own: 5_000, others: [0, 1_000, 9_000] }).aheadMs, 4_000);
  assert.is(judgeClock({ own: -5_000, others: [0, YEARS_MS] }).aheadMs, -5_000);
});

agreement('agrees with a majority within 30 s, whatever the other clocks show', () => {
  const close = fc.array(fc.integer({ min: -30_000, max: 30_000 }), { minLength: 2, maxLength: 6 });
  const any = fc.integer({ min: -YEARS_MS, max: YEARS_MS });
  fc.assert(
    fc.property(close, fc.array(any, { maxLength: 5 }), (right, wrong) => {
      const others = [...right, ...wrong.slice(0, right.length - 1)];
      assert.is(verdictOf(0, ...others), 'agreed');
      assert.is(verdictOf(2 * YEARS_MS, ...others), 'deviating');
    }),
  );
});

agreement.run();
