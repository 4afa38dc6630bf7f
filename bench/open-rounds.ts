import { type OpenResult, runOpenModel } from '#bench/open-model';
import type { Options } from '#bench/options';
import type { Label, Server } from '#bench/servers';
import { numberText } from '#bench/statistics';

/** Arrival rates of the open model, requests a second: a busy day, and the middle of what (p) can do. */
const RATES = [1_000, 3_000] as const;

/** Latencies of one server at one arrival rate. */
export type OpenRow = {
  readonly label: Label;
  readonly requestsPerS: number;
  readonly result: OpenResult;
};

/** Every server at every rate, one after the other. */
export async function runOpenRounds(
  k6: string,
  servers: readonly Server[],
  options: Options,
  tell: (line: string) => void,
): Promise<OpenRow[]> {
  const rows: OpenRow[] = [];
  for (const requestsPerS of RATES) {
    for (const server of servers) {
      const run = { requestsPerS, seconds: options.openSeconds };
      const result = await runOpenModel(k6, server, run);
      rows.push({ label: server.label, requestsPerS, result });
      const outcome = result.problem ?? `p99 ${numberText(result.p99Ms, 1)} ms`;
      tell(`open model: ${server.label} at ${requestsPerS}/s: ${outcome}`);
    }
  }
  return rows;
}
