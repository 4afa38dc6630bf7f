/** What happens inside meters, for metrics. */
export type MeterEvents = {
  /**
   * Cycles are charged although nobody said that they were used: those of one reservation that
   * expired, or of a crash.
   */
  readonly lost: (cause: 'expired' | 'crash', cycles: number) => void;
  /** A mark is to be raised by the record at `place` of the journal. */
  readonly raised: (mark: 'month' | 'window', place: number) => void;
};
