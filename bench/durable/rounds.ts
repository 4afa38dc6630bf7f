import { lineOf, orderOf, type Round, type RoundSizes } from '#bench/load/closed-rounds';
import { type ClosedResult, runWrk, runWrkInTime } from '#bench/load/wrk';
import { untilStored } from '#bench/measures/gauges';
import type { Label, Server } from '#bench/processes/servers';

/** Numbers of connections in the durable comparison. Source: the project's targets. */
const DURABLE_CONNECTIONS = [64, 256] as const;

/** Durations and repetitions of a durable comparison, in seconds. */
export type DurableSizes = RoundSizes & {
  /** Load on a durable service before the measurement, until checkpoints run steadily. */
  readonly checkpointS: number;
  /** Whether to wait for the last checkpoints before the next server gets load. */
  readonly isDrained: boolean;
  /** Initial load for Cassandra's JIT compilers, for each number of connections. */
  readonly compileS: number;
  /** Maximum number of instances of a server. */
  readonly instancesMax: number;
  /** Whether to measure the sizes of the tables at the end. Takes up to three minutes. */
  readonly isDiskMeasured: boolean;
};

type Rounds = {
  readonly servers: readonly Server[];
  readonly sizes: DurableSizes;
  readonly print: (line: string) => void;
};

/** Results of a server's turn, by number of connections. */
type Turn = ReadonlyMap<number, ClosedResult>;

/**
 * Alternating rounds of the durable comparison. A turn measures both connection counts. Checkpoints
 * are up to two minutes late, so each turn starts with an unmeasured load of two minutes. The
 * measured load then includes checkpoints, as in a long-running service. A turn ends when no
 * checkpoint is pending, so that the next server is undisturbed.
 */
export async function runDurableRounds(
  wrk: string,
  { servers, sizes, print }: Rounds,
): Promise<Round[]> {
  const rounds: Round[] = [];
  // One service is enough for Cassandra's compilers; each other JVM needs load of its own.
  const first = servers.find(isOnCassandra);
  const cold = servers.filter((server) => server === first || isFirstOnJvm(server, servers));
  for (const server of cold) await warmUpJvm(server, wrk, sizes, print);
  for (const server of servers) await observeAll(server, wrk, sizes, print);
  for (let round = 0; round < sizes.rounds; round += 1) {
    const order = orderOf(servers, round);
    const turns = new Map<Label, Turn>();
    for (const [i, server] of order.entries()) {
      const turn = await turnOf(server, wrk, sizes, print);
      turns.set(server.label, turn);
      for (const [connections, result] of turn) {
        print(`round ${round + 1}/${sizes.rounds}: ${lineOf(server.label, connections, result)}`);
      }
      // If the next server is the same service, its load continues.
      const isOver = order[i + 1]?.plan !== server.plan;
      if (isOver && sizes.isDrained) await whenStored(server, print);
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

/** Loads a server until checkpoints run steadily, then measures. */
async function turnOf(
  server: Server,
  wrk: string,
  { checkpointS, warmUpS, secondsPerRun }: DurableSizes,
  print: (line: string) => void,
): Promise<Turn> {
  const leadInS = server.isCheckpointing === true ? checkpointS : warmUpS;
  print(`${server.label}: unmeasured load for ${leadInS} s`);
  await runWrk(wrk, server, { connections: DURABLE_CONNECTIONS[0], seconds: leadInS });
  const results = new Map<number, ClosedResult>();
  for (const connections of DURABLE_CONNECTIONS) {
    const run = { connections, seconds: secondsPerRun };
    results.set(connections, await runWrkInTime(wrk, server, run, print));
  }
  return results;
}

/** Whether the server uses Cassandra, whose JIT compilers take CPU time. */
function isOnCassandra({ processes }: Server): boolean {
  return processes.some(({ name }) => name === 'cassandra');
}

/** Whether this is the first of the servers with the same process on a JVM. */
function isFirstOnJvm(server: Server, servers: readonly Server[]): boolean {
  return server.isOnJvm === true && servers.find(({ plan }) => plan === server.plan) === server;
}

/** Loads a server until the JIT compilers of its processes are idle. */
async function warmUpJvm(
  server: Server,
  wrk: string,
  { compileS }: DurableSizes,
  print: (line: string) => void,
): Promise<void> {
  for (const connections of DURABLE_CONNECTIONS) {
    print(`${server.label}: ${compileS} s at ${connections} connections for JIT compilers`);
    await runWrk(wrk, server, { connections, seconds: compileS });
  }
}

/**
 * Loads a server until all instances are observed: caches are full and every row was updated.
 */
async function observeAll(
  server: Server,
  wrk: string,
  { warmUpS }: DurableSizes,
  print: (line: string) => void,
): Promise<void> {
  const { label, plan } = server;
  const { length } = plan.instances;
  const [connections] = DURABLE_CONNECTIONS;
  while (plan.position < length) {
    print(`${label}: observed ${plan.position} of ${length} instances`);
    await runWrk(wrk, server, { connections, seconds: warmUpS });
  }
}

/** Resolves when the service has no pending checkpoints; immediately for references. */
async function whenStored(server: Server, print: (line: string) => void): Promise<void> {
  const { service, isCheckpointing = false } = server;
  if (service === undefined || !isCheckpointing) return;
  await untilStored(service.metricsUrls, print);
}
