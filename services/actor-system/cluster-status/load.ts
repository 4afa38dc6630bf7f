import type { LoadReport } from '#cluster-status/report';
import type { NodeLoad } from '#grpc/admin';
import type { Clock } from '#stdlib/clock';

/** Converts a node's load to its report. `callsPerS` is undefined while the rate is not known. */
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

/** Rates of several call counters between two readings, in calls per second. */
export class CallRates {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #before: { readonly calls: ReadonlyMap<string, number>; readonly atMs: number } | undefined;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /**
   * Reads the counters and returns their rates since the previous call, by name. A counter that was
   * absent in the previous call has no rate.
   */
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
