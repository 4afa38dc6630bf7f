import type { Clock } from '#platform/clock';

/** Steps between two that are timed: looking at the clock twice costs a twentieth of a step. */
const STEPS_PER_SAMPLE = 64;

/** Times one model step in 64, the first included. */
export class StepTimer {
  readonly #clock: Clock;
  readonly #observe: (seconds: number) => void;
  #stepsLeft = 0;

  constructor(clock: Clock, observe: (seconds: number) => void) {
    this.#clock = clock;
    this.#observe = observe;
  }

  /** Before a step: when it began, in milliseconds, or undefined if this one is not timed. */
  start(): number | undefined {
    if (this.#stepsLeft > 0) {
      this.#stepsLeft -= 1;
      return undefined;
    }
    this.#stepsLeft = STEPS_PER_SAMPLE - 1;
    return this.#clock.monotonicMs();
  }

  /** After a step, with what `start` said. */
  stop(startedMs: number | undefined): void {
    if (startedMs === undefined) return;
    this.#observe((this.#clock.monotonicMs() - startedMs) / 1_000);
  }
}
