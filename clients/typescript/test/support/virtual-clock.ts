import { setImmediate as turn } from 'node:timers/promises';
import type { BufferClock } from '../../src/observation-buffer/buffer-clock.ts';

/** Virtual time, which advances only when nothing else can run. */
export class VirtualClock implements BufferClock {
  readonly random: () => number;
  readonly #timers = new Map<() => void, number>();
  #nowMs: number;
  #aheadMs = 0;

  constructor(random: () => number, nowMs = Date.UTC(2026, 0, 15)) {
    this.random = random;
    this.#nowMs = nowMs;
  }

  now(): number {
    return this.#nowMs + this.#aheadMs;
  }

  steady(): number {
    return this.#nowMs;
  }

  /**
   * Sets the wall clock forward or back (negative), in milliseconds. Monotonic time is unchanged.
   */
  step(ms: number): void {
    this.#aheadMs += ms;
  }

  after(ms: number, work: () => void): () => void {
    const timer = () => work();
    this.#timers.set(timer, this.#nowMs + Math.max(0, ms));
    return () => void this.#timers.delete(timer);
  }

  /** Resolves after `ms` milliseconds of virtual time. */
  async sleep(ms: number): Promise<void> {
    await new Promise<void>((resolve) => this.after(ms, resolve));
  }

  /** Advances time until the promise is settled. Throws if no timer is left. */
  async run<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const settle = () => {
      isSettled = true;
    };
    promise.then(settle, settle);
    for (let idle = 0; ; ) {
      await turn();
      if (isSettled) return await promise;
      const [first] = [...this.#timers].sort(([, left], [, right]) => left - right);
      if (first !== undefined) {
        const [work, dueMs] = first;
        this.#timers.delete(work);
        this.#nowMs = Math.max(this.#nowMs, dueMs);
        work();
        idle = 0;
      } else if (++idle > 100) {
        throw new Error('a promise is pending, but no timer is left');
      }
    }
  }
}

/** Pseudo-random numbers in [0, 1) from a seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
