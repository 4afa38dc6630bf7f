/** A point in time by both clocks of a buffer. */
export type Moment = {
  /** Wall-clock time in Unix milliseconds; may be set back or forward. */
  readonly unixMs: number;
  /** Monotonic time in milliseconds, from an arbitrary start. */
  readonly steadyMs: number;
};

/** Clock and randomness of a buffer. */
export type BufferClock = {
  /** Wall-clock time in Unix milliseconds. */
  now(): number;
  /** Monotonic time in milliseconds, used for all waiting. */
  steady(): number;
  /** Calls `work` after `ms` milliseconds. Returns a function that cancels the timer. */
  after(ms: number, work: () => void): () => void;
  /** Random number in [0, 1). */
  random(): number;
};

/** Clock of this machine. */
export const systemClock: BufferClock = {
  now: () => Date.now(),
  steady: () => performance.now(),
  after(ms, work) {
    const timer = setTimeout(work, Math.min(ms, TIMER_MS_MAX));
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** Current time by both clocks. */
export function momentOf(clock: BufferClock): Moment {
  return { unixMs: clock.now(), steadyMs: clock.steady() };
}

/** Maximum timer delay, in milliseconds. */
const TIMER_MS_MAX = 2 ** 31 - 1;
