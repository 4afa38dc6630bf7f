import { type ClosedResult, runWrk } from '#bench/load/wrk';
import { numberText } from '#bench/measures/statistics';
import type { Label } from '#bench/processes/servers';
import { orderOf, type Rounds } from '#bench/rounds';

/** Numbers of connections in the closed-model runs. Source: the project's targets. */
export const CONNECTIONS = [64, 4] as const;

/** Results of all servers in one round at one number of connections. */
export type Round = {
  readonly connections: number;
  readonly results: ReadonlyMap<Label, ClosedResult>;
};

/**
 * Alternating rounds of the closed model. All servers keep running and take turns every few
 * seconds, in a different order each round, so that other work on the machine slows all servers
 * alike.
 */
export async function runClosedRounds(
  wrk: string,
  { servers, options, print }: Rounds,
): Promise<Round[]> {
  for (const server of servers) {
    print(`warming up ${server.label}`);
    await runWrk(wrk, server, { connections: 64, seconds: options.warmUpS });
  }
  const rounds: Round[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    const order = orderOf(servers, round);
    for (const connections of CONNECTIONS) {
      const results = new Map<Label, ClosedResult>();
      for (const server of order) {
        const run = { connections, seconds: options.secondsPerRun };
        const result = await runWrk(wrk, server, run);
        results.set(server.label, result);
        print(`round ${round + 1}/${options.rounds}: ${lineOf(server.label, connections, result)}`);
      }
      rounds.push({ connections, results });
    }
  }
  return rounds;
}

/** Progress line of a measurement. */
export function lineOf(label: Label, connections: number, result: ClosedResult): string {
  if (result.problem !== undefined) return `${label} at ${connections}: VOID, ${result.problem}`;
  return `${label} at ${connections}: ${numberText(result.requestsPerS, 0)} requests/s`;
}
