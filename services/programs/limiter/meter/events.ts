import { monthEndOf } from '#accounts/quota-windows';
import type { UnrecordedReads } from '#limiter/meter/unrecorded-reads';
import type { ClockVerdict } from '#stdlib/clock';

/** Callbacks for meters: events for metrics, and checks before certain steps. */
export type MeterEvents = {
  /** Cycles are charged although their use is unknown, after an expired reservation or a crash. */
  readonly lost: (cause: 'expired' | 'crash', cycles: number) => void;
  /** Crashes have lost more than `LOST_SHARE_TOLERABLE` of the account's monthly quota. */
  readonly lostMuch: () => void;
  /** The record at log offset `offset` raises a watermark. */
  readonly raised: (watermark: 'month' | 'window', offset: number) => void;
  /** Whether the wall clock is reliable enough for the step. Absent: no other clocks to compare. */
  readonly mayTurn?: (step: MonthStep) => boolean;
  /** Grants without records. Absent: no such grants, now or in earlier processes. */
  readonly unrecorded?: UnrecordedReads | undefined;
};

/**
 * Month change kind. `first`: the meter's first month; `next`: the following month; `later`: months
 * are skipped, because there were no calls or because the clock is wrong.
 */
export type MonthStep = 'first' | 'next' | 'later';

/**
 * Step from the month that ends at `endsAtMs` to the month of `nowMs`, both in Unix milliseconds.
 * `endsAtMs` 0: no month yet.
 */
export function monthStepOf(endsAtMs: number, nowMs: number): MonthStep {
  if (endsAtMs === 0) return 'first';
  return monthEndOf(endsAtMs) > nowMs ? 'next' : 'later';
}

/**
 * Whether a clock with this verdict may start a new month. Months never go back, so a wrong step
 * would last until the year that the clock showed. Skipping months therefore requires agreement
 * with other clocks. Source: decision 138.
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
