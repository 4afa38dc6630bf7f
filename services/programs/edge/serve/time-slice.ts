import { setImmediate } from 'node:timers/promises';
import type { Clock } from '#stdlib/clock';

/** Length of a slice, in milliseconds. Other calls wait at most this long, and for one step. */
const SLICE_MS = 0.5;

/**
 * Time in which a long call may use the event loop without a pause. Without slices, a call with a
 * thousand observations would delay all other calls.
 */
export class TimeSlice {
  readonly #clock: Clock;
  #endsAtMs: number;
  #readMs: number;
  #turn: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#readMs = clock.monotonicMs();
    this.#endsAtMs = this.#readMs + SLICE_MS;
  }

  /** Monotonic time of the last look at the slice, in milliseconds. */
  get readMs(): number {
    return this.#readMs;
  }

  /** Whether the slice is over. */
  get isOver(): boolean {
    this.#readMs = this.#clock.monotonicMs();
    return this.#turn !== undefined || this.#readMs >= this.#endsAtMs;
  }

  /** Resolves in the next slice, which begins after other work of the event loop. */
  next(): Promise<void> {
    this.#turn ??= this.#begin();
    return this.#turn;
  }

  async #begin(): Promise<void> {
    await setImmediate();
    this.#endsAtMs = this.#clock.monotonicMs() + SLICE_MS;
    this.#turn = undefined;
  }
}
