/**
 * Unix milliseconds at which the UTC month of `atMs` ends and the next begins. It names the month,
 * too: two times lie in the same month exactly when this is equal. Source: decision 25.
 */
export function monthEndOf(atMs: number): number {
  const at = new Date(atMs);
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1);
}

/** Unix milliseconds at which the UTC month begins that ends at `endsAtMs`. */
export function monthBeginOf(endsAtMs: number): number {
  const end = new Date(endsAtMs);
  return Date.UTC(end.getUTCFullYear(), end.getUTCMonth() - 1, 1);
}

/** The UTC month of a time, `2026-11`. Such names are in the order of their months. */
export function monthNameOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 7);
}
