import { numberText, spreadOf } from '#bench/measures/statistics';
import type { Figure } from '#bench/page/part';

/**
 * Number of windows in each tenth of the answers. The rate of a tenth is the median rate of its
 * windows, so that short stalls do not count.
 */
const WINDOWS = 20;

/** Minimum rate of the last tenth, relative to the first tenth. */
const SHARE_MIN = 0.9;

/** Answers per second in the first and in the last tenth. */
export type Rates = { readonly first: number; readonly last: number };

/** Rates of the first and the last tenth of answers. `timesMs` are in answer order. */
export function ratesOf(timesMs: readonly number[]): Rates {
  const tenth = Math.floor(timesMs.length / 10);
  return {
    first: medianRate(timesMs.slice(0, tenth)),
    last: medianRate(timesMs.slice(timesMs.length - tenth)),
  };
}

/** Figure with both rates and their target. Each answer counts as `unitsPerAnswer` units. */
export function rateFigure(what: string, rates: Rates, unitsPerAnswer = 1): Figure {
  const share = rates.last / rates.first;
  const [first, last] = [rates.first, rates.last].map((rate) =>
    numberText(rate * unitsPerAnswer, 0),
  );
  return {
    what,
    target: `≥ ${SHARE_MIN * 100} % of the first tenth`,
    reached: `${(share * 100).toFixed(0)} % (${first}/s, then ${last}/s)`,
    isMet: share >= SHARE_MIN,
  };
}

function medianRate(timesMs: readonly number[]): number {
  const size = Math.max(1, Math.floor((timesMs.length - 1) / WINDOWS));
  const rates: number[] = [];
  for (let end = size; end < timesMs.length; end += size) {
    const spentMs = (timesMs[end] ?? 0) - (timesMs[end - size] ?? 0);
    rates.push((size * 1_000) / spentMs);
  }
  return spreadOf(rates).median;
}
