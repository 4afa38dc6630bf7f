import type { Clock } from '#stdlib/clock';

/**
 * Durations for which named conditions have held without a gap. A condition ends if it is not
 * queried between two calls of `next`.
 */
export class Durations {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #before: ReadonlyMap<string, number> = new Map();
  #now = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Seconds for which the condition has held, in this round and the rounds before. */
  secondsOf(condition: string): number {
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = this.#before.get(condition) ?? nowMs;
    this.#now.set(condition, sinceMs);
    return (nowMs - sinceMs) / 1_000;
  }

  /** Ends a round. */
  next(): void {
    this.#before = this.#now;
    this.#now = new Map();
  }
}
