import { monthEndOf } from '#accounts/quota-windows';
import type { UnrecordedReads } from '#limiter/meter/unrecorded-reads';
import type { ClockVerdict } from '#stdlib/clock';

/** Callbacks of meters: events for metrics, and checks that a meter makes before it acts. */
export type MeterEvents = {
  /** Cycles are charged without a report of their use, after an expired reservation or a crash. */
  readonly lost: (cause: 'expired' | 'crash', cycles: number) => void;
  /** Cycles lost in crashes exceed `LOST_SHARE_TOLERABLE` of the account's monthly quota. */
  readonly lostMuch: () => void;
  /** The record at `offset` of the commit log raises a watermark. */
  readonly raised: (watermark: 'month' | 'window', offset: number) => void;
  /**
   * Whether the wall clock is reliable enough for this step. Absent: no other clock to compare
   * with.
   */
  readonly mayTurn?: (step: MonthStep) => boolean;
  /** Grants without a record. Absent: the meter makes no such grants and never made any. */
  readonly unrecorded?: UnrecordedReads | undefined;
};

/**
 * Kind of a change of a meter's month. `first`: the meter's first month; `next`: the following
 * month; `later`: the change skips months, because no call came or the clock is wrong.
 */
export type MonthStep = 'first' | 'next' | 'later';

/**
 * The step from the month that ends at `endsAtMs` to the month of `nowMs`. Both are Unix
 * milliseconds; `endsAtMs` 0 means no month yet.
 */
export function monthStepOf(endsAtMs: number, nowMs: number): MonthStep {
  if (endsAtMs === 0) return 'first';
  return monthEndOf(endsAtMs) > nowMs ? 'next' : 'later';
}

/**
 * Whether a clock with this verdict may start a new month. A month never goes back, so a wrong step
 * would last until the year that the clock showed. A step that skips months therefore needs other
 * clocks that agree. Source: decision 138.
 */
export function mayTurnMonth(step: MonthStep, verdict: ClockVerdict): boolean {
  switch (verdict) {
    case 'agreed':
      return true;
    case 'unsure':
      return step !== 'later';
    case 'deviating':
      return false;
  }
}
