import type { Instant } from '#platform/clock';

/** How long a window lasts. Source: interface 8.1, decision 25. */
export const WINDOW_MS = 60_000;

/**
 * How far wall and monotonic clock may drift apart within a window before its announced end follows
 * the wall clock: above what rounding to milliseconds makes, so that `Reset` stays the same, and
 * below what a caller could notice.
 */
const DRIFT_MS_MAX = 10;

/** An announced end is rounded up to whole seconds, so it may lie this much after the real one. */
const ROUNDING_MS = 1_000;

/**
 * Unix second at which a window that opens now will end, rounded up: a caller who waits for it
 * finds the window over.
 */
export function resetOfNewWindow(nowMs: number): number {
  return Math.ceil((nowMs + WINDOW_MS) / 1_000);
}

/**
 * Unix second at which a running window ends, given what was announced before. The window itself
 * is measured by the monotonic clock, so that no step of the wall clock shortens it (more requests
 * than the limit) or stretches it (a caller shut out for hours). The announcement stays the same
 * unless the wall clock was stepped; then it follows, and is never in the past.
 */
export function resetOfRunningWindow(
  announcedS: number,
  endsAtMonotonicMs: number,
  now: Instant,
): number {
  const announcedMs = announcedS * 1_000;
  const endsAtMs = now.wallMs + endsAtMonotonicMs - now.monotonicMs;
  const isEarly = endsAtMs - announcedMs > DRIFT_MS_MAX || announcedMs < now.wallMs;
  const isLate = announcedMs - endsAtMs > ROUNDING_MS + DRIFT_MS_MAX;
  return isEarly || isLate ? Math.ceil(endsAtMs / 1_000) : announcedS;
}

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
