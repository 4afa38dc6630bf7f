import type { Clock } from '#platform/clock';

/**
 * Since when each of several conditions holds, as far as was looked: what is not asked for between two
 * rounds has ended.
 */
export class Durations {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #before: ReadonlyMap<string, number> = new Map();
  #now = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** For how many seconds the condition has held, in this round and in those before. */
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
