import type { Bus } from '#bus/bus';
import { ClockWatch } from '#cluster/clock-watch';
import { type Config, ConfigError } from '#config';
import type { ClusterNodePorts } from '#node/cluster-node';
import type { NodeConfig } from '#node/node-context';
import { nodeMetrics } from '#node/node-metrics';
import type { Metrics } from '#platform/metrics';
import { releaseOf } from '#platform/release';
import type { Foundation } from '#process/foundation';
import { assertClusterSecret } from '#process/secret-files';
import type { LocalStores, SharedStores } from '#process/stores';
import { probe } from '#routing/probe';
import type { ShardedService } from '#storage/shard-store';

/** How long a node listens for others before it claims anything: two heartbeats, in milliseconds. */
const STARTUP_GRACE_MS = 2_000;

/** How long a probe of an address may take, in milliseconds. A live process answers in a few. */
const PROBE_MS_MAX = 1_000;

/** What a node of a cluster is built on. */
export type ClusterParts = {
  readonly stores: SharedStores;
  readonly bus: Bus;
  readonly clocks: ClockWatch | undefined;
};

/**
 * Throws `ConfigError` when the other nodes could not reach a node that listens and advertises as
 * these two variables say, or could not believe it.
 */
export function assertReachable(
  config: Config,
  listen: 'SERVICE_ENGINE_LISTEN' | 'SERVICE_LIMITER_LISTEN',
  advertise: 'SERVICE_ENGINE_ADVERTISE' | 'SERVICE_LIMITER_ADVERTISE',
): void {
  if (config.SERVICE_NATS_URL === undefined) {
    throw new ConfigError('SERVICE_NATS_URL: nodes on Cassandra find each other through it');
  }
  const isEverywhere = /^(0\.0\.0\.0|\[::\]):/.test(config[listen]);
  if (isEverywhere && config[advertise] === undefined) {
    const text = `needed when ${listen} is every address, which names no process in particular`;
    throw new ConfigError(`${advertise}: ${text}`);
  }
  assertClusterSecret(config);
}

/**
 * The id of the cluster whose stores these are, made if it has none yet; undefined for stores that
 * a process has to itself.
 */
export async function clusterOf(
  stores: LocalStores | SharedStores,
  { randomness }: Foundation,
): Promise<string | undefined> {
  if (stores.kind === 'local') return undefined;
  return await stores.shards.fixCluster(randomness.hex(16));
}

/**
 * A node's place in its cluster, as all agree on it. Rejects with `ConfigError` when the cluster
 * was made with another number of shards.
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
      `SERVICE_SHARDS: this cluster was made with ${shardCount} shards, not ${wanted}`,
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

/** Compares this process's clock with those of its cluster and its stores, and shows what it finds. */
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

/** What every node needs of its process to be one of a cluster. */
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
    // Meters go on: reads are counted by them.
    refusal: service === 'engine' ? stores.refusal : undefined,
    shards: stores.shards,
    metrics: nodeMetrics(metrics, service),
    probe: (address, aim) => probe(address, aim, call),
    onBug,
    tracer,
    logger,
  };
}

/** Shows how many shards a node owns, and how many there are. */
export function showShards(
  { service, shardCount }: Pick<NodeConfig, 'service' | 'shardCount'>,
  metrics: Metrics,
  node: { readonly incarnation: { readonly shards: ReadonlyMap<number, number> } | undefined },
): void {
  metrics.gauge('cluster_shards').labels({ service }).set(shardCount);
  const owned = metrics.gauge('shards_owned').labels({ service });
  metrics.beforeScrape(() => owned.set(node.incarnation?.shards.size ?? 0));
}
