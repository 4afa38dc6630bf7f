import { type Caller, newCaller } from '#test/support/calls/caller';
import { addressIn, type ProcessRun, runMain } from '#test/support/process-run';
import type { Service } from '#test/support/servers/service';

/** A cluster with real processes on real servers: engines, limiters, one edge. */
export type Cluster = AsyncDisposable & {
  readonly engines: Map<string, ProcessRun>;
  readonly limiters: Map<string, ProcessRun>;
  readonly edge: ProcessRun;
  readonly caller: Caller;
  /** Variables common to all processes; also used to run `ctl`. */
  readonly variables: Record<string, string>;
  /** The edge, and a limiter's admin port (default: the first limiter). */
  service(limiter?: string): Service;
  /** Starts another engine; resolves when ready. */
  startEngine(name: string): Promise<ProcessRun>;
  /** Starts or restarts a limiter; resolves when ready. */
  startLimiter(name: string): Promise<ProcessRun>;
  /** Sum over a process's metric series whose full name starts with `beginning`. */
  metric(run: ProcessRun, beginning: string): Promise<number>;
};

/** A cluster's server addresses and keyspace. */
export type ClusterPlace = { cassandra: string; keyspace: string; nats: string };

/** Cluster parts besides the engines. */
export type ClusterParts = {
  /** Limiter names. */
  readonly limiters: readonly string[];
  /** Variables for all processes. */
  readonly variables?: Record<string, string>;
  /** Further variables for limiters. */
  readonly limiterVariables?: Record<string, string>;
  /** Variables by part: engine, limiter or edge. */
  readonly variablesOf?: (part: string) => Record<string, string>;
  /** Maximum process lifetime in milliseconds. The default is enough for a whole test file. */
  readonly runMsMax?: number;
};

/** Cluster secret for all processes. */
const SHARED_KEY = 'the secret of all tests';

/** Maximum process lifetime in milliseconds, enough for a whole test file. */
const RUN_MS_MAX = 230_000;

/** Few shards, because every start claims all shards. */
const SHARDS = '16';

const ONE_LIMITER: ClusterParts = { limiters: ['limiter'] };

/** Starts a cluster in a migrated keyspace, whose name is also the prefix of its NATS subjects. */
export async function startCluster(
  { cassandra, keyspace, nats }: ClusterPlace,
  engineNames: readonly string[],
  {
    limiters: limiterNames,
    variables: given = {},
    limiterVariables,
    variablesOf,
    runMsMax = RUN_MS_MAX,
  }: ClusterParts = ONE_LIMITER,
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
    ...('SERVICE_CLUSTER_SECRET_FILE' in given ? {} : { SERVICE_CLUSTER_SECRET: SHARED_KEY }),
    SERVICE_LIMITER_TIMEOUT_MS: '5000',
    ...given,
  };
  const start = async (part: string, more: Record<string, string> = {}) => {
    const run = runMain([part], { ...variables, ...variablesOf?.(part), ...more }, runMsMax);
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
  const limiters = new Map<string, ProcessRun>();
  const startLimiter = async (name: string) => {
    const run = await start('limiter', { ...limiterVariables, SERVICE_NODE_NAME: name });
    limiters.set(name, run);
    return run;
  };
  await Promise.all([...limiterNames.map(startLimiter), ...engineNames.map(startEngine)]);
  const edge = await start('edge');
  const service = (name = limiterNames[0] ?? '') => {
    const limiter = limiters.get(name);
    if (limiter === undefined) throw new Error(`there is no limiter ${name}`);
    const adminUrl = addressIn(limiter, 'admin');
    return { api: addressIn(edge, 'api'), adminUrl } as Service;
  };
  const caller = await newCaller(service());
  const opened = opening.move();
  return {
    engines,
    limiters,
    edge,
    caller,
    variables,
    service,
    startEngine,
    startLimiter,
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
