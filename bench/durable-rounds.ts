import { lineOf, type Round } from '#bench/closed-rounds';
import { untilStored } from '#bench/gauges';
import type { Options } from '#bench/options';
import { orderOf, type Rounds } from '#bench/rounds';
import type { Label, Server } from '#bench/servers';
import { type ClosedResult, runWrk } from '#bench/wrk';

/** Connections of the durable comparison. Source: the targets are given for these two. */
export const DURABLE_CONNECTIONS = [64, 256] as const;

/** How long the service may take to store what is not stored after a turn, in ms: 120 s, and some. */
const STORED_MS_MAX = 150_000;

/**
 * Alternating rounds of the durable comparison. A server has both numbers of connections in one
 * turn, because the service writes its checkpoints up to two minutes late: a turn of its begins with as
 * long a load that is not measured, so that what is measured pays for checkpoints as a service that
 * runs for days does, and ends when nothing is left that would burden the next server.
 */
export async function runDurableRounds(
  wrk: string,
  { servers, options, print }: Rounds,
): Promise<Round[]> {
  const rounds: Round[] = [];
  const durable = servers.find(({ label }) => label === 'd');
  if (durable !== undefined) await compiled(durable, wrk, options, print);
  for (let round = 0; round < options.rounds; round += 1) {
    const order = orderOf(servers, round);
    const results = new Map<number, Map<Label, ClosedResult>>();
    for (const connections of DURABLE_CONNECTIONS) results.set(connections, new Map());
    for (const server of order) {
      const leadInS = server.label === 'd' ? options.checkpointS : options.warmUpS;
      print(`${server.label}: ${leadInS} s before it is measured`);
      await runWrk(wrk, server, { connections: DURABLE_CONNECTIONS[0], seconds: leadInS });
      for (const connections of DURABLE_CONNECTIONS) {
        const run = { connections, seconds: options.secondsPerRun };
        const result = await runWrk(wrk, server, run);
        results.get(connections)?.set(server.label, result);
        print(`round ${round + 1}/${options.rounds}: ${lineOf(server.label, connections, result)}`);
      }
      await whenStored(server, print);
    }
    for (const [connections, ofAll] of results) rounds.push({ connections, results: ofAll });
  }
  return rounds;
}

/** Loads the durable service until Cassandra's compilers have nothing left to do. */
async function compiled(
  durable: Server,
  wrk: string,
  { compileS }: Options,
  print: (line: string) => void,
): Promise<void> {
  for (const connections of DURABLE_CONNECTIONS) {
    print(`d: ${compileS} s at ${connections} connections until Cassandra is compiled`);
    await runWrk(wrk, durable, { connections, seconds: compileS });
  }
  await whenStored(durable, print);
}

/** Fulfils when the service has checkpointed everything. References owe nothing. */
async function whenStored({ service }: Server, print: (line: string) => void): Promise<void> {
  if (service !== undefined) await untilStored(service.metricsUrls, print, STORED_MS_MAX);
}
