/**
 * What the clocks of the processes say. Each number is a wall clock less this process's monotonic
 * one at the same moment, in milliseconds: it stays the same until a clock steps.
 */
type ClockEvidence = {
  readonly own: number;
  /** Of every other process that was heard just now. */
  readonly others: readonly number[];
};

/**
 * Whether this process's wall clock can be trusted: `deviating` if it is far from the others',
 * `unsure` if fewer than two others were heard, or those that contradict it do not outnumber those
 * that agree with it.
 */
export type ClockVerdict = 'agreed' | 'deviating' | 'unsure';

/** A verdict, and how far the own clock is ahead of the median of the others, in milliseconds. */
export type ClockAgreement = { readonly verdict: ClockVerdict; readonly aheadMs: number };

/** How far clocks that agree may stand apart, in milliseconds. Source: decision 138. */
const APART_MS_MAX = 60_000;

/** With fewer others it cannot be decided whose clock is wrong. */
export const OTHERS_MIN = 2;

/** Whether two clocks agree. */
export function isNear(one: number, other: number): boolean {
  return Math.abs(one - other) <= APART_MS_MAX;
}

/**
 * Compares the own clock with the median of the others. Of an even number the nearer of the two in
 * the middle counts: of three clocks one that is wrong must not make a right one doubt itself. A
 * clock deviates only if more agree with that median than with it, so that never all do.
 */
export function judgeClock({ own, others }: ClockEvidence): ClockAgreement {
  if (others.length < OTHERS_MIN) return { verdict: 'unsure', aheadMs: 0 };
  const ascending = others.toSorted((a, b) => a - b);
  const low = own - (ascending[Math.floor((ascending.length - 1) / 2)] ?? own);
  const high = own - (ascending[Math.floor(ascending.length / 2)] ?? own);
  const aheadMs = Math.abs(low) <= Math.abs(high) ? low : high;
  const median = own - aheadMs;
  if (isNear(own, median)) return { verdict: 'agreed', aheadMs };
  const against = ascending.filter((other) => isNear(median, other));
  const withUs = 1 + ascending.filter((other) => isNear(own, other)).length;
  return { verdict: against.length > withUs ? 'deviating' : 'unsure', aheadMs };
}
