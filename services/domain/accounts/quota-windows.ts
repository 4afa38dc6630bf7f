/** Length of the window of the rate limit, in milliseconds. Source: interface 8.1, decision 25. */
export const WINDOW_MS = 60_000;

/**
 * End of the UTC month that contains `atMs`, in Unix milliseconds. The value also identifies the
 * month: equal values mean the same month. Source: decision 25.
 */
export function monthEndOf(atMs: number): number {
  const at = new Date(atMs);
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1);
}

/** Begin of the UTC month that ends at `endsAtMs`, in Unix milliseconds. */
export function monthBeginOf(endsAtMs: number): number {
  const end = new Date(endsAtMs);
  return Date.UTC(end.getUTCFullYear(), end.getUTCMonth() - 1, 1);
}

/** Name of the UTC month that contains a time, such as `2026-11`. Names sort by time. */
export function monthNameOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 7);
}
