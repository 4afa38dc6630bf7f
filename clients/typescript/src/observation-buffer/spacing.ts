/** Minimum time between an instance's observations, in milliseconds. Source: interface 8.3. */
export const INTERVAL_MS = 1_000;

/**
 * Maximum lead of a sent timestamp over this machine's clock, in milliseconds. The service accepts
 * 300 s (interface 2.7); the remaining 60 s allow for clock differences.
 */
export const AHEAD_MS_MAX = 240_000;

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i;

/**
 * Converts a timestamp to Unix milliseconds; undefined if the service would refuse the timestamp.
 */
export function timeOf(timestamp: string): number | undefined {
  const ms = RFC_3339.test(timestamp) ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
