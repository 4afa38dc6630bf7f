import type { Bus } from '#bus/bus';
import type { Config } from '#config';
import type { CourierClient } from '#grpc/courier-messages';
import { inProcessPeer } from '#routing/peer';
import { watchedEngines, watchedLimiters } from '#startup/cluster';
import { engineNodeOf } from '#startup/engine';
import { limiterNodeOf } from '#startup/limiter';
import { clockWatchOf } from '#startup/node';
import type { Foundation } from '#startup/process/dependencies';
import type { SharedStores } from '#startup/stores/store-set';
import type { ShardedService } from '#storage/ports/cluster';

/**
 * Address of every process that serves a SQLite file. Only one process can lock the file. Therefore
 * an earlier process at this address has ended, and the new process takes over its shards
 * immediately (architecture 3.3).
 */
export const FILE_ADDRESS = 'file:0';

/**
 * Starts a limiter and an engine in this process. Both join as the only nodes of their cluster, at
 * `address`, on a durable store. Disposal stores all actors and leaves the cluster.
 */
export async function clusterOfOne(
  config: Config,
  foundation: Foundation,
  { stores, bus }: { readonly stores: SharedStores; readonly bus: Bus },
  address: string,
  courier: CourierClient | undefined,
) {
  await using opening = new AsyncDisposableStack();
  const isDirect = config.SERVICE_STORAGE === 'sqlite' || config.SERVICE_NODE_DIRECT;
  const alone = { ...config, SERVICE_NATS_URL: undefined, SERVICE_NODE_DIRECT: isDirect };
  const { clock } = foundation;
  const clocks = opening.use(clockWatchOf(alone, foundation, bus, stores));
  const limiterNode = await limiterNodeOf(alone, foundation, { stores, bus, clocks });
  const parts = { stores, bus, clocks: undefined };
  const engineNode = await engineNodeOf(alone, foundation, parts, courier);
  const { cluster } = engineNode;
  const facts = { cluster, shardCount: config.SERVICE_SHARDS };
  const limiter = opening.use(
    watchedLimiters(alone, foundation, bus, facts, () => inProcessPeer(limiterNode, clock)),
  );
  const engine = opening.use(
    watchedEngines(alone, foundation, bus, facts, () => inProcessPeer(engineNode, clock)),
  );
  // Disposed in reverse order: the nodes leave before the routes to them close.
  opening.use(limiterNode);
  opening.use(engineNode);
  await limiterNode.join(address);
  await engineNode.join(address);
  // Calls to limiters do not wait for an owner, unlike calls to engines.
  await limiter.ready();
  const opened = opening.move();
  return {
    ...{ engine, limiter, cluster },
    administration: limiterNode,
    readLoad: (service: ShardedService) =>
      service === 'engine' ? engineNode.readLoad() : limiterNode.readLoad(),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
