import type { Bus } from '#bus/bus';
import { ClockWatch } from '#cluster/clocks';
import { type Config, ConfigError } from '#config';
import { Fault } from '#errors/fault';
import { type AdminTarget, adminService, NO_INCARNATION } from '#grpc/admin';
import { serveGrpc, type WireService } from '#grpc/grpc-server';
import type { Limiter } from '#limiter/limiter-node';
import { dial } from '#routing/lifeline';
import type { ClusterNodePorts } from '#shards/cluster-node';
import { nodeMetrics } from '#shards/journal-writer';
import type { NodeConfig } from '#shards/node-context';
import { refusalObserver } from '#startup/cluster';
import { overviewOfAlone, overviewOfCluster } from '#startup/overview';
import { openBus, openStores } from '#startup/ports';
import { type Administration, openAdminPort, openProcessPort } from '#startup/process/admin-port';
import {
  type Foundation,
  type OperatorsPort,
  openFoundation,
  serveOperators,
} from '#startup/process/dependencies';
import { type Opened, say } from '#startup/process/lifetime';
import { assertClusterSecret } from '#startup/process/secrets';
import type { LocalStores, SharedStores } from '#startup/stores/store-set';
import { isoTime } from '#stdlib/clock';
import { releaseOf } from '#stdlib/release';
import type { ShardedService } from '#storage/ports/cluster';
import type { Logger } from '#telemetry/logger';
import type { Metrics } from '#telemetry/metrics';

/** Cluster node functions that the process uses. */
type ProcessNode = AdminTarget & {
  /** Joins the cluster. Other nodes reach this node at `address`. */
  join(address: string): Promise<void>;
};

/** Parts of a node process. */
type Served = {
  readonly service: WireService;
  /** Disposing ends the actors. */
  readonly actors: AsyncDisposable;
  /** Cluster node. Undefined for in-memory storage: the actors belong to no cluster. */
  readonly node: ProcessNode | undefined;
  /** Account administration for the admin port. Undefined for services without accounts. */
  readonly administration: (Administration & { readonly load?: Limiter['load'] }) | undefined;
};

/** Options that differ between an engine process and a limiter process. */
type NodeService = {
  readonly service: ShardedService;
  readonly listen: 'SERVICE_ENGINE_LISTEN' | 'SERVICE_LIMITER_LISTEN';
  readonly advertise: 'SERVICE_ENGINE_ADVERTISE' | 'SERVICE_LIMITER_ADVERTISE';
  /** Creates actors on in-memory storage, which no other process shares. */
  alone(foundation: Foundation, stores: LocalStores): Promise<Served>;
  /** Creates a cluster node that has not joined. */
  member(foundation: Foundation, parts: ClusterParts): Promise<Served>;
};

/**
 * Opens a process of one service. Creates the node, starts its server, and joins the cluster.
 * Joining needs the server's address. Before a node has joined, it refuses every call.
 */
export async function openNodeProcess(
  config: Config,
  stop: AbortSignal,
  { service, listen, advertise, alone, member }: NodeService,
): Promise<Opened> {
  await using opening = new AsyncDisposableStack();
  if (config.SERVICE_STORAGE === 'sqlite') {
    throw new ConfigError('SERVICE_STORAGE: only a standalone process can use sqlite');
  }
  const foundation = opening.use(await openFoundation(config, service, stop));
  const tls = foundation.tls();
  const operators = opening.use(await serveOperators(config, foundation));
  const stores = opening.use(await openStores(config, foundation));
  if (stores.kind === 'shared') assertReachable(config, listen, advertise);
  const cluster = await clusterOf(stores, foundation);
  const bus = opening.use(await openBus(config, foundation, { cluster, asks: [service] }));
  let served: Served;
  if (stores.kind === 'local') {
    served = await alone(foundation, stores);
  } else {
    const clocks = opening.use(clockWatchOf(config, foundation, bus, stores));
    served = await member(foundation, { stores, bus, clocks });
  }
  const { actors, node, administration } = served;
  const { onBug } = foundation;
  const onDrain = drainReporter(foundation, operators);
  const { recent } = bus;
  const publishedAfter = recent && ((position: number) => recent.since(position));
  const admin = adminService(node ?? targetOfAlone(service), onBug, onDrain, publishedAfter);
  const services = [served.service, admin];
  const onRefused = refusalObserver(foundation);
  const server = await serveGrpc({ listen: config[listen], services, tls, onRefused });
  opening.use(server);
  // Disposed before the server, because the server must answer while shards move to other nodes.
  opening.use(actors);
  const joined = node?.join(config[advertise] ?? server.address);
  await foundation.waits.during(() => 'the cluster to be joined', joined ?? Promise.resolve());
  const addresses: Record<string, string> = { grpc: server.address };
  if (administration !== undefined) {
    const { load } = administration;
    const overview = opening.use(
      stores.kind === 'local'
        ? await overviewOfAlone(foundation, { engine: undefined, limiter: load })
        : await overviewOfCluster(config, foundation, stores, bus),
    );
    const port = opening.use(await openAdminPort(config, foundation, administration, overview));
    addresses['admin'] = port.address;
  } else {
    const port = await openProcessPort(config, foundation);
    if (port !== undefined) addresses['admin'] = opening.use(port).address;
  }
  addresses['metrics'] = `${operators.address}/metrics`;
  stop.throwIfAborted();
  opening.use(operators.ready());
  say(foundation, addresses);
  return opening.move();
}

/**
 * Returns a function for drains of this node. The first call logs who drains the node, and shows
 * the drain in the readiness probe until the process ends. Later calls do nothing.
 */
export function drainReporter(
  { logger, clock }: { readonly logger: Logger; readonly clock: Foundation['clock'] },
  operators: Pick<OperatorsPort, 'note'>,
): (requestedBy: string) => void {
  let isReported = false;
  return (requestedBy) => {
    if (isReported) return;
    isReported = true;
    logger.info({ requestedBy }, 'leaving: this node moves its shards to other nodes');
    const since = isoTime(clock.wallMs());
    operators.note(
      `leaving since ${since}: drained by ${requestedBy}; stop the node when it owns no shard`,
    );
  };
}

/** Admin target of a process outside any cluster: refuses to drain. */
function targetOfAlone(service: ShardedService): AdminTarget {
  return {
    identity: () => NO_INCARNATION,
    drain: async () => {
      throw new Fault('service_unavailable', `this ${service} belongs to no cluster`);
    },
  };
}

/**
 * Time for which a started node only listens to other nodes, in milliseconds: two heartbeats. Then
 * the node claims shards.
 */
const STARTUP_GRACE_MS = 2_000;

/** Timeout of a probe, in milliseconds. A healthy process answers in a few milliseconds. */
const PROBE_MS_MAX = 1_000;

/** Dependencies of a cluster node. */
export type ClusterParts = {
  readonly stores: SharedStores;
  readonly bus: Bus;
  readonly clocks: ClockWatch | undefined;
};

/**
 * Throws `ConfigError` if the configuration prevents other nodes from reaching or authenticating
 * this node.
 */
function assertReachable(
  config: Config,
  listen: 'SERVICE_ENGINE_LISTEN' | 'SERVICE_LIMITER_LISTEN',
  advertise: 'SERVICE_ENGINE_ADVERTISE' | 'SERVICE_LIMITER_ADVERTISE',
): void {
  if (config.SERVICE_NATS_URL === undefined) {
    throw new ConfigError(
      'SERVICE_NATS_URL is not set: nodes on Cassandra find each other through NATS',
    );
  }
  const isEverywhere = /^(0\.0\.0\.0|\[::\]):/.test(config[listen]);
  if (isEverywhere && config[advertise] === undefined) {
    const text = `required if ${listen} is a wildcard address: other processes need the address of this process`;
    throw new ConfigError(`${advertise}: ${text}`);
  }
  assertClusterSecret(config);
}

/**
 * Cluster id in the stores, created if missing. Undefined for stores in the memory of this process.
 */
async function clusterOf(
  stores: LocalStores | SharedStores,
  { randomness }: Foundation,
): Promise<string | undefined> {
  if (stores.kind === 'local') return undefined;
  return await stores.shards.fixCluster(randomness.hex(16));
}

/**
 * Configuration of a node in its cluster. Rejects with `ConfigError` if the cluster was created
 * with another number of shards.
 */
export async function nodeConfigOf(
  service: ShardedService,
  config: Config,
  { randomness }: Foundation,
  { shards }: SharedStores,
): Promise<NodeConfig> {
  const wanted = config.SERVICE_SHARDS;
  const shardCount = await shards.fixCount(service, wanted);
  if (shardCount !== wanted) {
    throw new ConfigError(
      `SERVICE_SHARDS: this cluster was created with ${shardCount} shards, not ${wanted}`,
    );
  }
  return {
    service,
    name: config.SERVICE_NODE_NAME,
    shardCount,
    release: releaseOf(),
    prefix: config.SERVICE_NATS_PREFIX,
    cluster: await shards.fixCluster(randomness.hex(16)),
    startupGraceMs: config.SERVICE_NATS_URL === undefined ? 0 : STARTUP_GRACE_MS,
    isDirect: config.SERVICE_NODE_DIRECT,
    isOnlyWriter: config.SERVICE_STORAGE === 'sqlite',
  };
}

/**
 * Starts comparing this process's clock with its cluster and its stores, and exports the result.
 */
export function clockWatchOf(
  { SERVICE_NATS_PREFIX: prefix }: Config,
  { clock, logger, metrics }: Foundation,
  bus: Bus,
  { serverClocks }: SharedStores,
): ClockWatch {
  const watch = new ClockWatch({ bus, clock, prefix, serverClocks, logger });
  const ahead = metrics.gauge('clock_ahead_seconds');
  const deviating = metrics.gauge('clock_deviating');
  metrics.beforeScrape(() => {
    const { verdict, aheadMs } = watch.agreement;
    ahead.set(aheadMs / 1_000);
    deviating.set(verdict === 'deviating' ? 1 : 0);
  });
  return watch;
}

/** Ports of a cluster node. */
export function nodePortsOf(
  service: ShardedService,
  { clock, randomness, metrics, logger, onBug, tracer, tls }: Foundation,
  { stores, bus, clocks }: ClusterParts,
): ClusterNodePorts {
  const call = { timeoutMs: PROBE_MS_MAX, clock, tls: tls() };
  return {
    clock,
    randomness,
    bus,
    clocks,
    journals: stores.journals,
    // Limiters continue, because meters also count reads.
    refusal: service === 'engine' ? stores.refusal : undefined,
    shards: stores.shards,
    metrics: nodeMetrics(metrics, service),
    dial: (address) => dial(address, call),
    onBug,
    tracer,
    logger,
  };
}

/** Exports the owned and the total shard count. */
export function showShards(
  { service, shardCount }: Pick<NodeConfig, 'service' | 'shardCount'>,
  metrics: Metrics,
  node: { readonly incarnation: { readonly shards: ReadonlyMap<number, number> } | undefined },
): void {
  metrics.gauge('cluster_shards').labels({ service }).set(shardCount);
  const owned = metrics.gauge('shards_owned').labels({ service });
  metrics.beforeScrape(() => owned.set(node.incarnation?.shards.size ?? 0));
}
