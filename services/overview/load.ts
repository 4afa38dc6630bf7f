import type { LoadReport } from '#overview/report';
import type { Clock } from '#platform/clock';
import type { NodeLoad } from '#wire/admin';

/** A load as it is reported, with the calls a second if they are known. */
export function loadReport(
  load: Omit<NodeLoad, 'incarnation'>,
  callsPerS: number | undefined,
): LoadReport {
  const { oldestUnstoredMs: oldestMs } = load;
  return {
    actors: load.actors,
    actor_bytes: load.actorBytes,
    unstored_records: load.unstoredRecords,
    oldest_unstored_s: oldestMs === undefined ? null : oldestMs / 1_000,
    calls_per_s: callsPerS ?? null,
  };
}

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
