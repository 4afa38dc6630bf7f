/**
 * Unix milliseconds at which the UTC month of `atMs` ends and the next begins. It names the month,
 * too: two times lie in the same month exactly when this is equal. Source: decision 26.
 */
export function monthEndOf(atMs: number): number {
  const at = new Date(atMs);
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1);
}
