import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { ownedShards } from '#bench/measures/gauges';
import { type Child, environment, run } from '#bench/processes/child';
import { freePorts } from '#bench/processes/free-ports';
import { untilAnswered, untilReady } from '#bench/processes/readiness';
import {
  createKey,
  MAIN,
  metricsUrlOf,
  running,
  type Service,
  startRole,
} from '#bench/processes/service';
import { startCassandra } from '#deploy/local/servers/cassandra-server';
import type { LocalServer } from '#deploy/local/servers/local-server';
import { startNats } from '#deploy/local/servers/nats-server';

/** Number of shards of a durable service: the default of the local cluster. */
export const SHARDS = 64;

/** Default keyspace of the service's configuration. */
export const KEYSPACE = 'identity_engine';

/** Limiter timeout, as in the local cluster: all processes share two cores and answer slowly. */
const LIMITER_TIMEOUT_MS = '1000';

/** Listen address with a free port, which the process announces to other nodes. */
const ANY_PORT = '127.0.0.1:0';

/** Parameters of `startDurable`. */
export type DurablePlan = {
  readonly engines: number;
  /** Folder that only this service uses. */
  readonly folder: string;
  /** Node arguments for engines and edge, used for profiling. */
  readonly nodeArgs?: readonly string[];
  /** Running servers, which outlive the service. By default, `startDurable` starts both servers. */
  readonly stores?: Omit<DurableStores, typeof Symbol.asyncDispose>;
  /** Keyspace of the tables; `identity_engine` by default. */
  readonly keyspace?: string;
  readonly print: (line: string) => void;
};

/** Cassandra and NATS of a durable service. */
export type DurableStores = AsyncDisposable & {
  readonly cassandra: LocalServer;
  readonly nats: LocalServer;
};

/** A durable service and its inspectable processes. */
export type DurableService = Service & {
  readonly edge: Child;
  readonly engines: readonly Child[];
  readonly cassandra: LocalServer;
  /** Keyspace of the tables. */
  readonly keyspace: string;
  /**
   * Restarts an ended engine with the same name and metrics port. Appends `nodeArgs` to the plan's
   * Node arguments. Returns the process before the engine is ready. The process ends with the
   * service.
   */
  readonly startAgain: (engine: number, nodeArgs?: readonly string[]) => Child;
};

type Variables = Readonly<Record<string, string>>;

/** A process of the service and its metrics port. */
type Role = { readonly child: Child; readonly metrics: number };

/**
 * Starts edge, limiter, engines, Cassandra and NATS on this machine with fresh data. Throws
 * `MissingServer` if a server is not installed.
 */
export async function startDurable(plan: DurablePlan): Promise<DurableService> {
  const { engines, nodeArgs = [], keyspace = KEYSPACE } = plan;
  await using opening = new AsyncDisposableStack();
  const { cassandra, nats } = plan.stores ?? opening.use(await startStores(plan));
  const shared = await migrated({ cassandra, nats }, keyspace);
  const [api = 0, admin = 0] = await freePorts(2);
  const limiter = await startProcess(opening, 'limiter', limiterVariables(shared, admin));
  const nameOf = (engine: number) => (engines === 1 ? 'engine' : `engine${engine + 1}`);
  const variablesOf = (engine: number) => ({
    ...shared,
    SERVICE_NODE_NAME: nameOf(engine),
    SERVICE_ENGINE_LISTEN: ANY_PORT,
  });
  const nodes: Role[] = [];
  for (let engine = 0; engine < engines; engine += 1) {
    const named = { name: nameOf(engine), nodeArgs };
    nodes.push(await startProcess(opening, 'engine', variablesOf(engine), named));
  }
  const edgeVariables = {
    ...shared,
    SERVICE_PORT: `${api}`,
    SERVICE_LIMITER_TIMEOUT_MS: LIMITER_TIMEOUT_MS,
  };
  const edge = await startProcess(opening, 'edge', edgeVariables, { name: 'edge', nodeArgs });
  const metrics = nodes.map((node) => node.metrics);
  await untilAllServed(edge.child, metrics.map(metricsUrlOf));
  const key = await createKey(admin);
  const stores = [
    { name: 'cassandra', pid: cassandra.pid },
    { name: 'nats', pid: nats.pid },
  ];
  const children = nodes.map(({ child }) => child);
  const processes = [edge.child, limiter.child, ...children, ...stores];
  const opened = opening.move();
  const startAgain = (engine: number, more: readonly string[] = []) => {
    const port = metrics[engine] ?? 0;
    const args = [...nodeArgs, ...more];
    return opened.use(
      startRole('engine', port, variablesOf(engine), { nodeArgs: args, name: nameOf(engine) }),
    );
  };
  const service = running(opened, { api, metrics, key, processes });
  return { ...service, edge: edge.child, engines: children, cassandra, keyspace, startAgain };
}

/** Starts Cassandra and NATS with fresh data. Throws `MissingServer` if either is not installed. */
export async function startStores({
  folder,
  print,
}: Pick<DurablePlan, 'folder' | 'print'>): Promise<DurableStores> {
  await using opening = new AsyncDisposableStack();
  const placeOf = (name: string) => ({ folder: join(folder, name), logFolder: folder, print });
  const cassandra = opening.use(await startCassandra(placeOf('cassandra')));
  const nats = opening.use(await startNats(placeOf('nats')));
  const opened = opening.move();
  return { cassandra, nats, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/**
 * Creates the tables. Returns environment variables with which the service's processes find the
 * servers.
 */
export async function migrated(
  { cassandra, nats }: Pick<DurableStores, 'cassandra' | 'nats'>,
  keyspace = KEYSPACE,
): Promise<Variables> {
  const variables = {
    SERVICE_CASSANDRA_KEYSPACE: keyspace,
    SERVICE_STORAGE: 'cassandra',
    SERVICE_CASSANDRA_CONTACT_POINTS: cassandra.address,
    SERVICE_NATS_URL: nats.address,
    SERVICE_CLUSTER_SECRET: randomBytes(16).toString('hex'),
    SERVICE_SHARDS: `${SHARDS}`,
  };
  await run({
    name: 'main.ts migrate',
    program: process.execPath,
    args: [MAIN, 'migrate'],
    env: environment(variables),
  });
  return variables;
}

/** Environment variables of a limiter. The limiter serves the admin API on `port`. */
export function limiterVariables(shared: Variables, port: number, listen = ANY_PORT): Variables {
  return {
    ...shared,
    SERVICE_LIMITER_LISTEN: listen,
    SERVICE_ADMIN_PORT: `${port}`,
    SERVICE_NODE_NAME: 'limiter',
    SERVICE_LIMITER_TIMEOUT_MS: LIMITER_TIMEOUT_MS,
  };
}

/** Starts a process, adds the process to `opening`, and resolves when the process is ready. */
export async function startProcess(
  opening: AsyncDisposableStack,
  role: string,
  variables: Variables,
  { name, nodeArgs }: { name: string; nodeArgs: readonly string[] } = { name: role, nodeArgs: [] },
): Promise<Role> {
  const [metrics = 0] = await freePorts(1);
  const child = opening.use(startRole(role, metrics, variables, { nodeArgs, name }));
  await untilReady(child, `${metricsUrlOf(metrics)}/health/ready`);
  return { child, metrics };
}

/**
 * Resolves when the nodes at `metricsUrls` own every shard. Rejects if the process `witness` ends.
 */
export async function untilAllServed(
  witness: Child,
  metricsUrls: readonly string[],
): Promise<void> {
  await untilAnswered(witness, async () => {
    return (await ownedShards(metricsUrls)) === SHARDS ? true : undefined;
  });
}
