import type { Bus } from '#bus/bus';
import type { Config } from '#config';
import { watchedEngines, watchedLimiters } from '#process/cluster';
import { engineNodeOf } from '#process/engine';
import type { Foundation } from '#process/foundation';
import { limiterNodeOf } from '#process/limiter';
import { clockWatchOf } from '#process/node';
import type { SharedStores } from '#process/stores';
import { inProcessPeer } from '#routing/peer';
import type { ShardedService } from '#storage/ports/cluster';

/**
 * The address of a process that serves a file. It is the same for each: one process holds the file, so
 * that an earlier one is dead, and its shards are taken over without a pause (architecture 3.3).
 */
export const FILE_ADDRESS = 'file:0';

/**
 * A limiter and an engine that are the only ones of their cluster, in this process, and have joined it at
 * `address`; on a store that outlives it. Disposing it stores everything and leaves.
 */
export async function clusterOfOne(
  config: Config,
  foundation: Foundation,
  { stores, bus }: { readonly stores: SharedStores; readonly bus: Bus },
  address: string,
) {
  await using opening = new AsyncDisposableStack();
  const isDirect = config.SERVICE_STORAGE === 'sqlite' || config.SERVICE_NODE_DIRECT;
  const alone = { ...config, SERVICE_NATS_URL: undefined, SERVICE_NODE_DIRECT: isDirect };
  const { clock } = foundation;
  const clocks = opening.use(clockWatchOf(alone, foundation, bus, stores));
  const limiterNode = await limiterNodeOf(alone, foundation, { stores, bus, clocks });
  const engineNode = await engineNodeOf(alone, foundation, { stores, bus, clocks: undefined });
  const { cluster } = engineNode;
  const facts = { cluster, shardCount: config.SERVICE_SHARDS };
  const limiter = opening.use(
    watchedLimiters(alone, foundation, bus, facts, () => inProcessPeer(limiterNode, clock)),
  );
  const engine = opening.use(
    watchedEngines(alone, foundation, bus, facts, () => inProcessPeer(engineNode, clock)),
  );
  // The nodes leave before the routes to them close.
  opening.use(limiterNode);
  opening.use(engineNode);
  await limiterNode.join(address);
  await engineNode.join(address);
  // Calls of limiters do not wait for an owner as those of engines do.
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
