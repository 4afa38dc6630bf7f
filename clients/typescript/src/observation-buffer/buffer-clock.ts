/** Time and chance as a buffer needs them. */
export type BufferClock = {
  /** Unix milliseconds. */
  now(): number;
  /** Calls back after these milliseconds, unless it is cancelled by what is returned. */
  after(ms: number, work: () => void): () => void;
  /** From 0 up to, not including, 1. */
  random(): number;
};

/** The time of this machine. */
export const systemClock: BufferClock = {
  now: () => Date.now(),
  after(ms, work) {
    const timer = setTimeout(work, Math.min(ms, TIMER_MS_MAX));
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** The largest time that a timer takes, in milliseconds. */
const TIMER_MS_MAX = 2 ** 31 - 1;
