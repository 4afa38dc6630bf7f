import { CYCLE_INTERVAL_MS_MIN } from '#identity/model';

/** A batch's first observation that breaks decision 8 (own timestamps), and the broken rule. */
export type Misplaced = {
  /** Index in the list of times. */
  readonly index: number;
  readonly reason: 'timestamps_mixed' | 'timestamp_order';
};

/**
 * Checks a batch's timestamps, in Unix milliseconds. Source: decision 8.
 *
 * Either all observations have a timestamp, ascending by at least 1.000 s, or none has. Returns
 * undefined if the rule holds.
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
