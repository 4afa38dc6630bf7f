import { lineOf, type Round } from '#bench/closed-rounds';
import { untilStored } from '#bench/gauges';
import type { Options } from '#bench/options';
import { orderOf, type Rounds } from '#bench/rounds';
import type { Label, Server } from '#bench/servers';
import { type ClosedResult, runWrk } from '#bench/wrk';

/** Connections of the durable comparison. Source: the targets are given for these two. */
export const DURABLE_CONNECTIONS = [64, 256] as const;

/** What a server's turn measured, by the number of connections. */
type Turn = ReadonlyMap<number, ClosedResult>;

/**
 * Alternating rounds of the durable comparison. A server has both numbers of connections in one
 * turn, because the service writes its checkpoints up to two minutes late: a turn of its begins
 * with as long a load that is not measured, so that what is measured pays for checkpoints as a
 * service that runs for days does, and ends when nothing is left that would burden the next server.
 */
export async function runDurableRounds(
  wrk: string,
  { servers, options, print }: Rounds,
): Promise<Round[]> {
  const rounds: Round[] = [];
  const durable = servers.find(isOnCassandra);
  if (durable !== undefined) await compiled(durable, wrk, options, print);
  for (const server of servers) await allMet(server, wrk, options, print);
  for (let round = 0; round < options.rounds; round += 1) {
    const order = orderOf(servers, round);
    const turns = new Map<Label, Turn>();
    for (const [i, server] of order.entries()) {
      const turn = await turnOf(server, wrk, options, print);
      turns.set(server.label, turn);
      for (const [connections, result] of turn) {
        print(`round ${round + 1}/${options.rounds}: ${lineOf(server.label, connections, result)}`);
      }
      // The next may be the same service: then it goes on with its load.
      const isOver = order[i + 1]?.plan !== server.plan;
      if (isOver && options.isDrained) await whenStored(server, print);
    }
    rounds.push(...DURABLE_CONNECTIONS.map((connections) => roundAt(connections, turns)));
  }
  return rounds;
}

function roundAt(connections: number, turns: ReadonlyMap<Label, Turn>): Round {
  const results = new Map<Label, ClosedResult>();
  for (const [label, turn] of turns) {
    const result = turn.get(connections);
    if (result !== undefined) results.set(label, result);
  }
  return { connections, results };
}

/** Loads a server for as long as its checkpoints need, then measures it. */
async function turnOf(
  server: Server,
  wrk: string,
  { checkpointS, warmUpS, secondsPerRun }: Options,
  print: (line: string) => void,
): Promise<Turn> {
  const leadInS = server.isCheckpointing === true ? checkpointS : warmUpS;
  print(`${server.label}: ${leadInS} s before it is measured`);
  await runWrk(wrk, server, { connections: DURABLE_CONNECTIONS[0], seconds: leadInS });
  const results = new Map<number, ClosedResult>();
  for (const connections of DURABLE_CONNECTIONS) {
    results.set(connections, await runWrk(wrk, server, { connections, seconds: secondsPerRun }));
  }
  return results;
}

/** Whether Cassandra's compilers have their share in what it does. */
function isOnCassandra({ processes }: Server): boolean {
  return processes.some(({ name }) => name === 'cassandra');
}

/** Loads a durable service until Cassandra's compilers have nothing left to do. */
async function compiled(
  durable: Server,
  wrk: string,
  { compileS }: Options,
  print: (line: string) => void,
): Promise<void> {
  for (const connections of DURABLE_CONNECTIONS) {
    print(
      `${durable.label}: ${compileS} s at ${connections} connections until Cassandra is compiled`,
    );
    await runWrk(wrk, durable, { connections, seconds: compileS });
  }
}

/** Loads a server until each instance was observed: caches are filled, and rows have moved once. */
async function allMet(
  server: Server,
  wrk: string,
  { warmUpS }: Options,
  print: (line: string) => void,
): Promise<void> {
  const { label, plan } = server;
  const { length } = plan.instances;
  const [connections] = DURABLE_CONNECTIONS;
  while (plan.position < length) {
    print(`${label}: ${plan.position} of ${length} instances were observed`);
    await runWrk(wrk, server, { connections, seconds: warmUpS });
  }
}

/** Fulfils when the service has checkpointed everything. References have nothing to store. */
async function whenStored(server: Server, print: (line: string) => void): Promise<void> {
  const { service, isCheckpointing = false } = server;
  if (service === undefined || !isCheckpointing) return;
  await untilStored(service.metricsUrls, print);
}
