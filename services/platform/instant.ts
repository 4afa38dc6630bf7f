import type { Clock } from '#platform/clock';

/** A time by both clocks, in milliseconds: the wall clock may step, the monotonic one only runs on. */
export type Instant = { readonly wallMs: number; readonly monotonicMs: number };

/** The time now by both clocks. */
export function instantOf(clock: Pick<Clock, 'wallMs' | 'monotonicMs'>): Instant {
  return { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
}
