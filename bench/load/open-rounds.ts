import { type OpenResult, runOpenModel } from '#bench/load/open-model';
import { numberText } from '#bench/measures/statistics';
import type { Label } from '#bench/processes/servers';
import type { Rounds } from '#bench/rounds';

/** Arrival rates of the open model in requests/s: a busy day, and half the capacity of (p). */
const RATES = [1_000, 3_000] as const;

/** Attempts per row. A stall of 100 ms on the machine drops iterations and voids the attempt. */
const ATTEMPTS_MAX = 2;

/** Measures every server at every rate, sequentially. */
export async function runOpenRounds(
  k6: string,
  { servers, options, print }: Rounds,
): Promise<OpenRow[]> {
  const rows: OpenRow[] = [];
  for (const requestsPerS of RATES) {
    for (const server of servers) {
      const run = { requestsPerS, seconds: options.openSeconds };
      let attempts = 0;
      let result: OpenResult;
      do {
        result = await runOpenModel(k6, server, run);
        attempts += 1;
        const outcome = result.problem ?? `p99 ${numberText(result.p99Ms, 1)} ms`;
        print(`open model: ${server.label} at ${requestsPerS}/s: ${outcome}`);
      } while (result.problem !== undefined && attempts < ATTEMPTS_MAX);
      rows.push({ label: server.label, requestsPerS, result, attempts });
    }
  }
  return rows;
}

/** Latencies of a server at an arrival rate. */
export type OpenRow = {
  readonly label: Label;
  readonly requestsPerS: number;
  readonly result: OpenResult;
  /** Number of attempts; the row reports the last one. */
  readonly attempts: number;
};
