import type { Bus } from '#bus/bus';
import { ClockWatch } from '#cluster/clock-watch';
import type { ProbeAim } from '#cluster/failure-evidence';
import { type Config, ConfigError } from '#config';
import type { NodeConfig } from '#node/incarnation';
import { nodeMetrics } from '#node/node-metrics';
import type { Metrics } from '#platform/metrics';
import { clusterSecretsOf } from '#process/cluster-secrets';
import type { Foundation } from '#process/foundation';
import type { LocalStores, SharedStores } from '#process/ports';
import { probe } from '#routing/probe';
import type { ShardedService } from '#storage/shard-store';

/** How long a node listens who else is there before it claims anything: two heartbeats, in milliseconds. */
const STARTUP_GRACE_MS = 2_000;

/** How long a look at an address may take, in milliseconds. A live process answers in a few. */
const PROBE_MS_MAX = 1_000;

/**
 * Throws `ConfigError` when the others of a cluster could not find a node that listens and is reached
 * as these two variables say, or could not believe it.
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
    const text = `needed when ${listen} is every address, which is nobody’s in particular`;
    throw new ConfigError(`${advertise}: ${text}`);
  }
  clusterSecretsOf(config);
}

/**
 * The id of the cluster whose stores these are, made if it has none yet; undefined for stores that a
 * process has to itself.
 */
export async function clusterOf(
  stores: LocalStores | SharedStores,
  { randomness }: Foundation,
): Promise<string | undefined> {
  if (stores.kind === 'local') return undefined;
  return await stores.shards.fixCluster(randomness.hex(16));
}

/**
 * A node's place in its cluster, as all agree on it. Rejects with `ConfigError` when the cluster was
 * made with another number of shards.
 */
export async function placeOf(
  service: ShardedService,
  config: Config,
  { randomness }: Foundation,
  { shards }: SharedStores,
  address: string,
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
    node: config.SERVICE_NODE_NAME ?? address,
    address,
    shardCount,
    prefix: config.SERVICE_NATS_PREFIX,
    cluster: await shards.fixCluster(randomness.hex(16)),
    startupGraceMs: config.SERVICE_NATS_URL === undefined ? 0 : STARTUP_GRACE_MS,
    isDirect: config.SERVICE_NODE_DIRECT,
  };
}

/** Compares this process's clock with those of its cluster and its stores, and shows what it finds. */
export function clockWatchOf(
  { SERVICE_NATS_PREFIX: prefix }: Config,
  { clock, logger, metrics }: Foundation,
  bus: Bus,
  { serverClocks }: SharedStores,
): ClockWatch {
  const onNotice = (notice: string) => logger.error(notice);
  const watch = new ClockWatch({ bus, clock, prefix, serverClocks, onNotice });
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
  foundation: Foundation,
  bus: Bus,
  clocks: ClockWatch | undefined,
) {
  const { clock, metrics, logger } = foundation;
  const look = { timeoutMs: PROBE_MS_MAX, clock, tls: foundation.tls() };
  return {
    bus,
    clocks,
    nodeMetrics: nodeMetrics(metrics, service),
    probe: (other: string, aim: ProbeAim) => probe(other, aim, look),
    onNotice: (notice: string) => logger.warn(notice),
  };
}

/** Shows how many shards a node owns. */
export function showShards(
  service: ShardedService,
  metrics: Metrics,
  node: { readonly incarnation: { readonly shards: ReadonlyMap<number, number> } | undefined },
): void {
  const owned = metrics.gauge('shards_owned').labels({ service });
  metrics.beforeScrape(() => owned.set(node.incarnation?.shards.size ?? 0));
}
