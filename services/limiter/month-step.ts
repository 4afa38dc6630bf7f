import { monthEndOf } from '#accounts/month';
import type { ClockVerdict } from '#platform/clock-agreement';

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
