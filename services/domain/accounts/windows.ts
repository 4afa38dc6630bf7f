import type { Instant } from '#stdlib/clock';

/** Length of a window, in milliseconds. Source: interface 8.1, decision 25. */
export const WINDOW_MS = 60_000;

/**
 * Maximum drift between wall and monotonic clock within a window, in milliseconds, before the
 * announced end follows the wall clock. Rounding to milliseconds stays below it, so `Reset` is
 * stable. Callers cannot notice it.
 */
const DRIFT_MS_MAX = 10;

/** Maximum rounding of an announced end, in milliseconds: ends are rounded up to whole seconds. */
const ROUNDING_MS = 1_000;

/**
 * Unix second at which a window that opens now will end. Rounded up, so that the window is over for
 * a caller who waits until then.
 */
export function resetOfNewWindow(nowMs: number): number {
  return Math.ceil((nowMs + WINDOW_MS) / 1_000);
}

/**
 * Unix second at which a running window ends, given the last announced end. The monotonic clock
 * measures the window: a step of the wall clock must not shorten it (too many requests) or stretch
 * it (refusals for hours). The announced end stays the same unless the wall clock was stepped.
 * After a step the announced end follows, and is never in the past.
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
