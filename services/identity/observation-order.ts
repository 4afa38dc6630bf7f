import { CYCLE_INTERVAL_MS_MIN } from '#identity/advance';

/** The first observation of a batch whose time breaks a rule of decision 8, and the rule. */
export type Misplaced = {
  /** Index in the list of times. */
  readonly index: number;
  readonly reason: 'timestamps_mixed' | 'timestamp_order';
};

/**
 * Checks the times of a batch: all observations carry one, ascending and at least 1.000 s apart, or
 * none does. Times are Unix milliseconds. Returns undefined if the rule holds. Source: decision 8.
 */
export function firstMisplaced(timesMs: readonly (number | undefined)[]): Misplaced | undefined {
  const isTimed = timesMs[0] !== undefined;
  for (const [index, timeMs] of timesMs.entries()) {
    if ((timeMs !== undefined) !== isTimed) return { index, reason: 'timestamps_mixed' };
    const previousMs = timesMs[index - 1];
    if (timeMs === undefined || previousMs === undefined) continue;
    if (timeMs < previousMs + CYCLE_INTERVAL_MS_MIN) return { index, reason: 'timestamp_order' };
  }
  return undefined;
}
