import type { Clock } from '#platform/clock';

/** Bounds how often something happens in a second: beyond `max` it is left out. */
export class PerSecond {
  readonly #clock: Clock;
  readonly #max: number;
  #left = 0;
  #untilMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, max: number) {
    this.#clock = clock;
    this.#max = max;
  }

  /** Whether it may happen once more; asking counts. */
  take(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs >= this.#untilMs) {
      this.#untilMs = nowMs + 1_000;
      this.#left = this.#max;
    }
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }
}
