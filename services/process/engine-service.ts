import type { Bus } from '#bus/bus';
import type { Config } from '#config';
import { ConfigError } from '#config';
import { EngineNode } from '#engine/engine-node';
import { engineConnector, retryCounter } from '#process/cluster';
import type { Foundation } from '#process/foundation';
import type { SharedStores } from '#process/ports';
import { probe } from '#routing/probe';
import { nodeMetrics } from '#runtime/node-metrics';

/** How long a node listens who else is there before it claims anything: two heartbeats, in milliseconds. */
const SETTLE_MS = 2_000;

/** How long a look at an address may take, in milliseconds. A live process answers in a few. */
const PROBE_MS_MAX = 1_000;

/** An engine of a cluster, reached at `address`. Fulfils when it has joined. */
export async function joinCluster(
  config: Config,
  foundation: Foundation,
  stores: SharedStores,
  bus: Bus,
  address: string,
): Promise<EngineNode> {
  const { clock, metrics, onBug, logger, actors } = foundation;
  const wanted = config.SERVICE_SHARDS;
  const shardCount = await stores.shards.fixCount('engine', wanted);
  if (shardCount !== wanted) {
    throw new ConfigError(
      `SERVICE_SHARDS: this cluster was made with ${shardCount} shards, not ${wanted}`,
    );
  }
  const cluster = await stores.shards.fixCluster(foundation.randomness.hex(16));
  const isAlone = config.SERVICE_NATS_URL === undefined;
  const node = await EngineNode.join(
    {
      ...actors,
      service: 'engine',
      node: config.SERVICE_NODE_NAME ?? address,
      address,
      shardCount,
      prefix: config.SERVICE_NATS_PREFIX,
      cluster,
      settleMs: isAlone ? 0 : SETTLE_MS,
      isDirect: config.SERVICE_ENGINE_DIRECT,
    },
    {
      ...foundation,
      ...stores,
      bus,
      nodeMetrics: nodeMetrics(metrics, 'engine'),
      probe: (other) => probe(other, { timeoutMs: PROBE_MS_MAX, clock }),
      connect: engineConnector(foundation),
      random: Math.random,
      onRetry: retryCounter(foundation),
      onBug,
      onNotice: (notice) => logger.warn(notice),
    },
  );
  const owned = metrics.gauge('shards_owned').labels({ service: 'engine' });
  metrics.beforeScrape(() => owned.set(node.incarnation?.shards.size ?? 0));
  return node;
}
