import { type Caller, newCaller } from '#test/support/caller';
import { addressIn, type ProcessRun, runMain } from '#test/support/process-run';
import type { Service } from '#test/support/service';

/** A cluster of real processes on real servers: some engines, one limiter, one edge. */
export type Cluster = AsyncDisposable & {
  readonly engines: Map<string, ProcessRun>;
  readonly caller: Caller;
  /** Starts one more engine and waits until it is ready. */
  startEngine(name: string): Promise<ProcessRun>;
  /** A scrape of a process: the sum of all series whose full name begins so. */
  metric(run: ProcessRun, beginning: string): Promise<number>;
};

/** Where the cluster keeps its data and how its processes hear each other. */
export type ClusterPlace = { cassandra: string; keyspace: string; nats: string };

/** How long a process of the cluster may live: a whole test file. */
const RUN_MS_MAX = 230_000;

/** Few shards: every start claims them. */
const SHARDS = '16';

/** Starts a cluster in a migrated keyspace, whose name is also the prefix of its subjects. */
export async function startCluster(
  { cassandra, keyspace, nats }: ClusterPlace,
  engineNames: readonly string[],
): Promise<Cluster> {
  const runs: ProcessRun[] = [];
  await using opening = new AsyncDisposableStack();
  opening.defer(async () => {
    for (const run of runs.reverse()) await end(run);
  });
  const variables = {
    SERVICE_STORAGE: 'cassandra',
    SERVICE_CASSANDRA_CONTACT_POINTS: cassandra,
    SERVICE_CASSANDRA_KEYSPACE: keyspace,
    SERVICE_NATS_URL: nats,
    SERVICE_NATS_PREFIX: keyspace,
    SERVICE_SHARDS: SHARDS,
    SERVICE_CLUSTER_SECRET: 'the secret of all tests',
    SERVICE_LIMITER_TIMEOUT_MS: '5000',
  };
  const start = async (part: string, more: Record<string, string> = {}) => {
    const run = runMain([part], { ...variables, ...more }, RUN_MS_MAX);
    runs.push(run);
    await run.says(new RegExp(`${part} is ready`));
    return run;
  };
  const engines = new Map<string, ProcessRun>();
  const startEngine = async (name: string) => {
    const run = await start('engine', { SERVICE_NODE_NAME: name });
    engines.set(name, run);
    return run;
  };
  const limiting = start('limiter');
  await Promise.all(engineNames.map(startEngine));
  const limiter = await limiting;
  const edge = await start('edge', { SERVICE_LIMITER_ADDRESS: addressIn(limiter, 'grpc') });
  const service = { api: addressIn(edge, 'api'), adminUrl: addressIn(limiter, 'admin') };
  const caller = await newCaller(service as Service);
  const opened = opening.move();
  return {
    engines,
    caller,
    startEngine,
    async metric(run, beginning) {
      const text = await (await fetch(addressIn(run, 'metrics'))).text();
      const lines = text.split('\n').filter((line) => line.startsWith(beginning));
      return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function end({ child, ended }: ProcessRun): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
  await ended;
}
