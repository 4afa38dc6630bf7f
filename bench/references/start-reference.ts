import { type Redis, startRedis } from '#bench/limiter/redis-server';
import { ObservationPlan } from '#bench/load/observation-plan';
import type { Measured } from '#bench/measures/cpu-time';
import { Child, environment } from '#bench/processes/child';
import { freePorts } from '#bench/processes/free-ports';
import { untilReady } from '#bench/processes/readiness';
import type { Server } from '#bench/processes/servers';
import { findRedis, MissingTool } from '#bench/processes/tool-path';
import { startDapr } from '#bench/references/dapr-server';
import { instanceId, modeStrengthsOf } from '#bench/references/identity';
import { pekkoCommand } from '#bench/references/pekko-program';
import { findPostgres, type Postgres, startPostgres } from '#bench/references/postgres-server';
import { startRestate } from '#bench/references/restate-server';
import type { LocalServer } from '#deploy/local/servers/local-server';

/** Label of a reference with a database. */
export type ReferenceLabel =
  | 'pg'
  | 'cas'
  | 'pg50'
  | 'cas50'
  | 'redis'
  | 'pekko'
  | 'restate'
  | 'dapr';

/** Maximum start time of a reference, including the creation of its instances, in ms. */
const READY_MS_MAX = 120_000;

/** API key of a reference, which looks up the digest of the key. */
const KEY = `svc_sk_${'0'.repeat(50)}`;

/** Databases for references. Each starts with the first reference that needs the database. */
export type ReferenceStores = {
  /** Cassandra of the comparison, shared with the service. */
  readonly cassandra: LocalServer | undefined;
  /** Closes the databases after the references. */
  readonly opening: AsyncDisposableStack;
  postgres?: Postgres;
};

/** Parameters of a reference. */
export type ReferenceOptions = {
  /** Folder for the observation plan. */
  readonly folder: string;
  readonly instanceCount: number;
  readonly print: (line: string) => void;
};

/** A started reference without its plan. */
type Started = Pick<Server, 'address' | 'processPath' | 'listAddress' | 'isOnJvm'> & {
  readonly processes: readonly Measured[];
};

type Start = (
  stores: ReferenceStores,
  label: ReferenceLabel,
  options: ReferenceOptions,
) => Promise<Started>;

const STARTERS: Readonly<Record<ReferenceLabel, Start>> = {
  pg: onPostgres('transaction'),
  cas: onPostgres('compare-and-set'),
  pg50: onPostgres('transaction'),
  cas50: onPostgres('compare-and-set'),
  redis: onRedis,
  pekko: onPekko,
  restate: onRestate,
  dapr: onDapr,
};

/** Starts a reference with its own tables and instances. Throws `MissingTool`. */
export async function startReferenceOn(
  stores: ReferenceStores,
  label: ReferenceLabel,
  options: ReferenceOptions,
): Promise<Server> {
  const { folder, instanceCount } = options;
  const started = await STARTERS[label](stores, label, options);
  const instances = Array.from({ length: instanceCount }, (_, i) => ({
    id: instanceId(i),
    modeStrengths: modeStrengthsOf(i),
  }));
  const plan = await ObservationPlan.write({ instances, key: KEY, folder, name: label });
  const metricsUrls = [started.listAddress ?? started.address];
  return { label, ...started, plan, service: { metricsUrls } };
}

function onPostgres(way: 'transaction' | 'compare-and-set'): Start {
  return async (stores, label, options) => {
    const { opening } = stores;
    stores.postgres ??= opening.use(await startPostgres(await findPostgres()));
    const { process: server } = stores.postgres;
    const url = await stores.postgres.database(label);
    const args = ['bench/references/postgres.ts', way];
    const { address, child } = await startNode(opening, 'fastify', args, [url], options);
    return { address, processes: [child, { name: 'postgres', pid: server.pid }] };
  };
}

async function onRedis(
  { opening }: ReferenceStores,
  _label: ReferenceLabel,
  options: ReferenceOptions,
): Promise<Started> {
  const redis = opening.use(await startDurableRedis());
  const args = ['bench/references/redis.ts'];
  const own = [redis.address];
  const { address, child } = await startNode(opening, 'fastify', args, own, options);
  return { address, processes: [child, redis.process] };
}

/** Starts Redis, which syncs its append-only file before each answer. */
async function startDurableRedis(): Promise<Redis> {
  const program = await findRedis();
  if (program !== undefined) return startRedis(program, { sync: 'always' });
  throw new MissingTool('Redis is not installed: run apt-get install redis-server');
}

async function onPekko(
  { opening, cassandra }: ReferenceStores,
  label: ReferenceLabel,
  { instanceCount, print }: ReferenceOptions,
): Promise<Started> {
  if (cassandra === undefined) throw new Error('Cassandra must be started before (pekko)');
  const [port = 0, artery = 0] = await freePorts(2);
  const command = await pekkoCommand(print);
  const profiles = Array.from({ length: instanceCount }, (_, i) => modeStrengthsOf(i).join());
  const variables = {
    REFERENCE_PORT: `${port}`,
    REFERENCE_ARTERY_PORT: `${artery}`,
    REFERENCE_CASSANDRA: cassandra.address,
    REFERENCE_KEYSPACE: label,
    REFERENCE_API_KEY: KEY,
    REFERENCE_INSTANCES: `${instanceCount}`,
    REFERENCE_PROFILES: [...new Set(profiles)].join(';'),
  };
  const child = opening.use(new Child({ ...command, env: environment(variables) }));
  const address = `http://127.0.0.1:${port}`;
  await untilReady(child, `${address}/metrics`, READY_MS_MAX);
  const processes = [child, { name: 'cassandra', pid: cassandra.pid }];
  return { address, processes, isOnJvm: true };
}

async function onRestate(
  { opening }: ReferenceStores,
  _label: ReferenceLabel,
  options: ReferenceOptions,
): Promise<Started> {
  const restate = opening.use(await startRestate(options.print));
  const [endpoint = 0] = await freePorts(1);
  const args = ['bench/references/restate.ts'];
  const own = [`${endpoint}`, restate.ingress, restate.admin];
  const { address, child } = await startNode(opening, 'node', args, own, options);
  return {
    address: restate.ingress,
    processPath: '/instance/{id}/process',
    listAddress: address,
    processes: [child, restate.process],
  };
}

async function onDapr(
  { opening }: ReferenceStores,
  _label: ReferenceLabel,
  options: ReferenceOptions,
): Promise<Started> {
  const redis = opening.use(await startDurableRedis());
  const [appPort = 0] = await freePorts(1);
  const redisAddress = redis.address;
  const dapr = opening.use(await startDapr({ redisAddress, appPort }, options.print));
  const args = ['bench/references/dapr.ts'];
  const own = [dapr.address, redisAddress];
  const { address, child } = await startNode(opening, 'node', args, own, options, appPort);
  return {
    address: dapr.address,
    processPath: '/v1.0/actors/instance/{id}/method/process',
    listAddress: address,
    processes: [child, redis.process, ...dapr.processes],
  };
}

/** Starts a program with the arguments `args`, port, `own`, API key and number of instances. */
async function startNode(
  opening: AsyncDisposableStack,
  name: string,
  args: readonly string[],
  own: readonly string[],
  { instanceCount }: ReferenceOptions,
  ownPort?: number,
) {
  const port = ownPort ?? (await freePorts(1))[0];
  const child = opening.use(
    new Child({
      name,
      program: process.execPath,
      args: [...args, `${port}`, ...own, KEY, `${instanceCount}`],
      env: environment(),
    }),
  );
  const address = `http://127.0.0.1:${port}`;
  await untilReady(child, `${address}/metrics`, READY_MS_MAX);
  return { address, child };
}
