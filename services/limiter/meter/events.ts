import { monthEndOf } from '#accounts/windows';
import type { UnrecordedReads } from '#limiter/meter/unrecorded-reads';
import type { ClockVerdict } from '#platform/clock';

/** What happens inside meters, for metrics, and what they must ask before it does. */
export type MeterEvents = {
  /**
   * Cycles are charged although no call reported them as used: those of a reservation that expired,
   * or of a crash.
   */
  readonly lost: (cause: 'expired' | 'crash', cycles: number) => void;
  /** The cycles lost in crashes have passed a thousandth of the account's quota of the month. */
  readonly lostMuch: () => void;
  /** The record at `offset` of the commit log raises a watermark. */
  readonly raised: (watermark: 'month' | 'window', offset: number) => void;
  /** Whether the wall clock is good enough for such a step; absent: there is no clock to compare with. */
  readonly mayTurn?: (step: MonthStep) => boolean;
  /** What is granted without a record; absent: nothing is, and was. */
  readonly unrecorded?: UnrecordedReads | undefined;
};

/**
 * What turning a meter's month would be: its `first` one, the one that follows, `later` ones, as
 * after months without a call or by a clock that is wrong.
 */
export type MonthStep = 'first' | 'next' | 'later';

/** The step from the month that ends at `endsAtMs` (0: none yet) to that of `nowMs`; Unix time. */
export function monthStepOf(endsAtMs: number, nowMs: number): MonthStep {
  if (endsAtMs === 0) return 'first';
  return monthEndOf(endsAtMs) > nowMs ? 'next' : 'later';
}

/**
 * Whether a clock of this standing may turn a month. A month never goes back, so one wrong step
 * would last until the year that the clock showed: what more than one month would skip needs other
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
