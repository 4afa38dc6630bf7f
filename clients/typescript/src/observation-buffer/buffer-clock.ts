/** One point in time, by both clocks of a buffer. */
export type Moment = {
  /** What the calendar says, in Unix milliseconds: it may be set back or forward. */
  readonly unixMs: number;
  /** Milliseconds since some point, which always go on as fast as time. */
  readonly steadyMs: number;
};

/** Time and chance as a buffer needs them. */
export type BufferClock = {
  /** Unix milliseconds. */
  now(): number;
  /** Milliseconds since some point: by it the buffer waits, whatever the calendar is set to. */
  steady(): number;
  /** Calls back after these milliseconds, unless it is cancelled by what is returned. */
  after(ms: number, work: () => void): () => void;
  /** From 0 up to, not including, 1. */
  random(): number;
};

/** The time of this machine. */
export const systemClock: BufferClock = {
  now: () => Date.now(),
  steady: () => performance.now(),
  after(ms, work) {
    const timer = setTimeout(work, Math.min(ms, TIMER_MS_MAX));
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** What a clock says now. */
export function momentOf(clock: BufferClock): Moment {
  return { unixMs: clock.now(), steadyMs: clock.steady() };
}

/** The largest time that a timer takes, in milliseconds. */
const TIMER_MS_MAX = 2 ** 31 - 1;
