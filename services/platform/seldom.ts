import type { Clock } from '#platform/clock';

/** Between two log lines of a kind, in milliseconds: a flood of calls must not become one of lines. */
const LINE_PERIOD_MS = 30_000;

/** Lets something be logged once in 30 s, and counts how often it would have been. */
export class Seldom {
  readonly #clock: Clock;
  #lastMs = Number.NEGATIVE_INFINITY;
  #unsaid = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `say` with how often it was not called since the last time, unless that was just now. */
  run(say: (unsaid: number) => void): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#lastMs < LINE_PERIOD_MS) {
      this.#unsaid += 1;
      return;
    }
    const unsaid = this.#unsaid;
    this.#lastMs = nowMs;
    this.#unsaid = 0;
    say(unsaid);
  }
}
