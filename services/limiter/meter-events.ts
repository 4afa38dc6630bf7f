import type { MonthStep } from '#limiter/month-step';
import type { UnrecordedReads } from '#limiter/unrecorded-reads';

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
