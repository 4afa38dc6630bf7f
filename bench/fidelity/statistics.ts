import { quantileOf } from '#bench/measures/statistics';
import type { SeededRandom } from '#test/simulation/seeded-random';

/** A value with the bounds of its confidence interval. */
export type Estimate = { readonly value: number; readonly low: number; readonly high: number };

/** Resamples of a bootstrap. 2,000 keep the bounds of a 95 % interval steady. */
const RESAMPLES = 2_000;

/** Share of the resamples outside the interval, on each side. */
const TAIL = 0.025;

/**
 * Value of a statistic over units, with a 95 % interval: percentile bootstrap over whole units, for
 * units whose parts are not independent. Resamples without a value are left out; the bounds are NaN
 * if no resample has a value.
 */
export function bootstrap<Unit>(
  units: readonly Unit[],
  statistic: (units: readonly Unit[]) => number,
  random: SeededRandom,
): Estimate {
  const values: number[] = [];
  for (let resample = 0; resample < RESAMPLES; resample += 1) {
    const drawn = units.map(() => random.pick(units));
    const value = statistic(drawn);
    if (!Number.isNaN(value)) values.push(value);
  }
  values.sort((one, other) => one - other);
  return {
    value: statistic(units),
    low: quantileOf(values, TAIL),
    high: quantileOf(values, 1 - TAIL),
  };
}

/**
 * Jensen-Shannon divergence of two distributions with the same categories, in bits: 0 if equal, 1
 * if disjoint. Takes weights of any sum. NaN if a distribution is empty. Source: Lin 1991.
 */
export function divergence(one: readonly number[], other: readonly number[]): number {
  const [first, second] = [shares(one), shares(other)];
  const middle = first.map((share, index) => (share + (second[index] ?? 0)) / 2);
  return (relativeEntropy(first, middle) + relativeEntropy(second, middle)) / 2;
}

function shares(weights: readonly number[]): number[] {
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

function relativeEntropy(from: readonly number[], to: readonly number[]): number {
  return from.reduce(
    (sum, share, index) => sum + (share === 0 ? 0 : share * Math.log2(share / (to[index] ?? 0))),
    0,
  );
}
