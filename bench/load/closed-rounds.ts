import { type ClosedResult, runWrk, runWrkInTime } from '#bench/load/wrk';
import { numberText } from '#bench/measures/statistics';
import type { Label, Server } from '#bench/processes/servers';

/** Results of all servers in one round at one number of connections. */
export type Round = {
  readonly connections: number;
  readonly results: ReadonlyMap<Label, ClosedResult>;
};

/** Number of rounds, and durations of a measured run and of the warm-up, in seconds. */
export type RoundSizes = {
  readonly rounds: number;
  readonly secondsPerRun: number;
  readonly warmUpS: number;
};

/** Servers that take turns, and a printer for progress lines. */
type Rounds = {
  readonly servers: readonly Server[];
  readonly connections: readonly number[];
  readonly sizes: RoundSizes;
  readonly print: (line: string) => void;
};

/**
 * Alternating rounds of the closed model. All servers keep running and take turns every few
 * seconds, in a different order each round, so that other work on the machine slows all servers
 * alike.
 */
export async function runClosedRounds(
  wrk: string,
  { servers, connections: counts, sizes, print }: Rounds,
): Promise<Round[]> {
  for (const server of servers) {
    print(`warming up ${server.label}`);
    await runWrk(wrk, server, { connections: 64, seconds: sizes.warmUpS });
  }
  const rounds: Round[] = [];
  for (let round = 0; round < sizes.rounds; round += 1) {
    const order = orderOf(servers, round);
    for (const connections of counts) {
      const results = new Map<Label, ClosedResult>();
      for (const server of order) {
        const run = { connections, seconds: sizes.secondsPerRun };
        const result = await runWrkInTime(wrk, server, run, print);
        results.set(server.label, result);
        print(`round ${round + 1}/${sizes.rounds}: ${lineOf(server.label, connections, result)}`);
      }
      rounds.push({ connections, results });
    }
  }
  return rounds;
}

/** Order of the servers in a round. The order rotates, so that each server comes first in turn. */
export function orderOf(servers: readonly Server[], round: number): Server[] {
  const first = round % servers.length;
  return [...servers.slice(first), ...servers.slice(0, first)];
}

/** Progress line of a measurement. */
export function lineOf(label: Label, connections: number, result: ClosedResult): string {
  if (result.problem !== undefined)
    return `${label} at ${connections}: VOID, ${result.problem.text}`;
  return `${label} at ${connections}: ${numberText(result.requestsPerS, 0)} requests/s`;
}
