import { setImmediate } from 'node:timers/promises';
import type { Clock } from '#stdlib/clock';

/** Length of a slice, in milliseconds. Other calls wait at most this long, and for one step. */
const SLICE_MS = 1;

/**
 * Time in which a long call may use the event loop without a pause. Without slices, a call with a
 * thousand observations would delay all other calls.
 */
export class TimeSlice {
  readonly #clock: Clock;
  #endsAtMs: number;
  #turn: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#endsAtMs = clock.monotonicMs() + SLICE_MS;
  }

  /** Whether the slice is over. */
  get isOver(): boolean {
    return this.#turn !== undefined || this.#clock.monotonicMs() >= this.#endsAtMs;
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
