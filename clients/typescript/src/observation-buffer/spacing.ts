/** Between two observations of an instance there is at least this much time, in milliseconds. Source: interface 8.3. */
export const INTERVAL_MS = 1_000;

/**
 * How far ahead of this machine's clock a timestamp may be when it is sent, in milliseconds: the service takes
 * 300 s (interface 2.7), and clocks differ.
 */
export const AHEAD_MS_MAX = 240_000;

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i;

/** The time of a timestamp in Unix milliseconds; undefined for what the service refuses as one. */
export function timeOf(timestamp: string): number | undefined {
  const ms = RFC_3339.test(timestamp) ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
