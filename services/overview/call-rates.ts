import type { Clock } from '#platform/clock';

/** Calls a second of several counters, between one look at all of them and the next. */
export class CallRates {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #before: { readonly calls: ReadonlyMap<string, number>; readonly atMs: number } | undefined;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** The rates since the look before, by name; a counter that was not there then has none. */
  look(calls: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
    const before = this.#before;
    const atMs = this.#clock.monotonicMs();
    this.#before = { calls, atMs };
    const rates = new Map<string, number>();
    if (before === undefined || atMs <= before.atMs) return rates;
    for (const [name, count] of calls) {
      const was = before.calls.get(name);
      if (was !== undefined) rates.set(name, (1_000 * (count - was)) / (atMs - before.atMs));
    }
    return rates;
  }
}
