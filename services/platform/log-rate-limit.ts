import type { Clock } from '#platform/clock';

/** Between two log lines of a kind, in milliseconds: a flood of calls must not become one of lines. */
const LINE_PERIOD_MS = 30_000;

/** Bounds log lines of a kind to one in a period, 30 s by default, and counts the suppressed ones. */
export class LogRateLimit {
  readonly #clock: Clock;
  readonly #periodMs: number;
  #lastMs = Number.NEGATIVE_INFINITY;
  #suppressed = 0;

  constructor(clock: Clock, periodMs = LINE_PERIOD_MS) {
    this.#clock = clock;
    this.#periodMs = periodMs;
  }

  /** Calls `log` with how many lines were suppressed since the last one, unless that was just now. */
  run(log: (suppressed: number) => void): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#lastMs < this.#periodMs) {
      this.#suppressed += 1;
      return;
    }
    const suppressed = this.#suppressed;
    this.#lastMs = nowMs;
    this.#suppressed = 0;
    log(suppressed);
  }
}
