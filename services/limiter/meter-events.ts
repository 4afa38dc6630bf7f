import type { MonthStep } from '#limiter/month-step';

/** What happens inside meters, for metrics, and what they must ask before it does. */
export type MeterEvents = {
  /**
   * Cycles are charged although nobody said that they were used: those of one reservation that
   * expired, or of a crash.
   */
  readonly lost: (cause: 'expired' | 'crash', cycles: number) => void;
  /** A mark is to be raised by the record at `place` of the journal. */
  readonly raised: (mark: 'month' | 'window', place: number) => void;
  /** Whether the wall clock is good enough for such a step; absent: nobody could say otherwise. */
  readonly mayTurn?: (step: MonthStep) => boolean;
};
