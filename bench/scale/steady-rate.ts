import type { ScaleFigure } from '#bench/scale/scale-part';
import { numberText, spreadOf } from '#bench/statistics';

/** Equal parts of a tenth, whose median is the tenth's rate: a pause of the machine spoils few. */
const WINDOWS = 20;

/** What the last tenth must reach of the first. */
const SHARE_MIN = 0.9;

/** How fast answers came at the beginning and at the end, per second. */
export type Rates = { readonly first: number; readonly last: number };

/** The rates of the first and the last tenth of answers, whose times in ms come in their order. */
export function ratesOf(timesMs: readonly number[]): Rates {
  const tenth = Math.floor(timesMs.length / 10);
  return {
    first: medianRate(timesMs.slice(0, tenth)),
    last: medianRate(timesMs.slice(timesMs.length - tenth)),
  };
}

/** Both rates, in units of which each answer stands for `unitsPerAnswer`, and what they must be. */
export function rateFigure(what: string, rates: Rates, unitsPerAnswer = 1): ScaleFigure {
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
