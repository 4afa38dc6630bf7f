import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type Child, environment, run } from '#bench/child';
import { metricsOf, sumOf } from '#bench/cycle-count';
import { freePorts } from '#bench/free-ports';
import { untilAnswered, untilReady } from '#bench/readiness';
import { createKey, MAIN, metricsUrlOf, running, type Service, startRole } from '#bench/service';
import { startCassandra } from '#deploy/local/cassandra-server';
import { startNats } from '#deploy/local/nats-server';

/** As the local cluster has: 10 to 40 for each of its engines. */
const SHARDS = 64;

/** As the local cluster has it: while all share two cores, a late answer is not a broken limiter. */
const LIMITER_TIMEOUT_MS = '1000';

/** What a durable service consists of, and where its servers keep their things. */
export type DurablePlan = {
  readonly engines: number;
  /** A folder that nobody else uses. */
  readonly folder: string;
  /** For Node itself, in front of the program, of engines and edge: to profile them. */
  readonly nodeArgs?: readonly string[];
  readonly tell: (line: string) => void;
};

/** The service and those of its processes that are worth a look inside. */
export type DurableService = Service & { readonly edge: Child; readonly engines: readonly Child[] };

type Variables = Readonly<Record<string, string>>;

/** A process of the service and the port of its metrics. */
type Role = { readonly child: Child; readonly metrics: number };

/**
 * Edge, limiter, engines, Cassandra and NATS as processes of this machine, each server with a state
 * of its own. Throws `MissingServer` when a server cannot be had.
 */
export async function startDurable(plan: DurablePlan): Promise<DurableService> {
  const { folder, engines, tell, nodeArgs = [] } = plan;
  await using opening = new AsyncDisposableStack();
  const placeOf = (name: string) => ({ folder: join(folder, name), logFolder: folder, tell });
  const cassandra = opening.use(await startCassandra(placeOf('cassandra')));
  const nats = opening.use(await startNats(placeOf('nats')));
  const shared = {
    SERVICE_STORAGE: 'cassandra',
    SERVICE_CASSANDRA_CONTACT_POINTS: cassandra.address,
    SERVICE_NATS_URL: nats.address,
    SERVICE_SHARDS: `${SHARDS}`,
  };
  await migrate(shared);
  const [api = 0, admin = 0, limiterPort = 0] = await freePorts(3);
  const limiterAddress = `127.0.0.1:${limiterPort}`;
  const limiter = await startProcess(opening, 'limiter', {
    ...shared,
    SERVICE_LIMITER_LISTEN: limiterAddress,
    SERVICE_ADMIN_PORT: `${admin}`,
  });
  const nodes: Role[] = [];
  for (let number = 1; number <= engines; number += 1) {
    const name = engines === 1 ? 'engine' : `engine${number}`;
    const variables = { ...shared, SERVICE_NODE_NAME: name, SERVICE_ENGINE_LISTEN: '127.0.0.1:0' };
    nodes.push(await startProcess(opening, 'engine', variables, { name, nodeArgs }));
  }
  const edgeVariables = {
    ...shared,
    SERVICE_PORT: `${api}`,
    SERVICE_CLUSTER_SECRET: randomBytes(16).toString('hex'),
    SERVICE_LIMITER_ADDRESS: limiterAddress,
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
  const service = running(opening.move(), { api, metrics, key, processes });
  return { ...service, edge: edge.child, engines: children };
}

async function migrate(variables: Variables): Promise<void> {
  await run({
    name: 'main.ts migrate',
    program: process.execPath,
    args: [MAIN, 'migrate'],
    env: environment(variables),
  });
}

/** Starts a process of the service on the stack; fulfils when it is ready. */
async function startProcess(
  opening: AsyncDisposableStack,
  role: string,
  variables: Variables,
  { name, nodeArgs }: { name: string; nodeArgs: readonly string[] } = { name: role, nodeArgs: [] },
): Promise<Role> {
  const [metrics = 0] = await freePorts(1);
  const child = opening.use(startRole(role, metrics, variables, nodeArgs, name));
  await untilReady(child, `${metricsUrlOf(metrics)}/health/ready`);
  return { child, metrics };
}

/** Fulfils when the engines together own every shard. */
async function untilAllServed(edge: Child, metricsUrls: readonly string[]): Promise<void> {
  await untilAnswered(edge, async () => {
    const owned = sumOf(await metricsOf(metricsUrls), 'shards_owned');
    return owned === SHARDS ? true : undefined;
  });
}
