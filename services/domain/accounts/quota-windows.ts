/** Length of a window, in milliseconds. Source: interface 8.1, decision 25. */
export const WINDOW_MS = 60_000;

/**
 * Unix milliseconds at which the UTC month of `atMs` ends. The value also identifies the month:
 * equal values mean the same month. Source: decision 25.
 */
export function monthEndOf(atMs: number): number {
  const at = new Date(atMs);
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1);
}

/** Unix milliseconds at which the UTC month that ends at `endsAtMs` begins. */
export function monthBeginOf(endsAtMs: number): number {
  const end = new Date(endsAtMs);
  return Date.UTC(end.getUTCFullYear(), end.getUTCMonth() - 1, 1);
}

/** The UTC month of a time, such as `2026-11`. Names sort in the order of their months. */
export function monthNameOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 7);
}
