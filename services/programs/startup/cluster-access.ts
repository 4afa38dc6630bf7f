import type { Config } from '#config';
import { faultFor } from '#errors/fault';
import { adminClient } from '#grpc/admin';
import { accountAdmin } from '#limiter/admin/accounts';
import { auditTrailOf } from '#startup/audit-trail';
import { watchedBackends } from '#startup/cluster';
import { openBus } from '#startup/ports';
import type { Administration } from '#startup/process/admin-port';
import type { Foundation } from '#startup/process/dependencies';
import type { SharedStores } from '#startup/stores/store-set';
import type { ShardedService } from '#storage/ports/cluster';

/** Timeout of a limiter's usage report, in milliseconds. */
const USAGE_MS_MAX = 3_000;

/** Access to a cluster for a process that shares the stores but is no cluster node. */
type ClusterAccess = Administration & Omit<ReturnType<typeof watchedBackends>, symbol>;

/**
 * Opens account administration and clients of the engines and limiters, for a process that is no
 * cluster node. Account changes go to the stores and are announced on the bus. Usage comes from the
 * meter owners.
 */
export async function clusterAccess(
  config: Config,
  foundation: Foundation,
  stores: SharedStores,
): Promise<ClusterAccess & AsyncDisposable> {
  await using opening = new AsyncDisposableStack();
  const { clock, randomness } = foundation;
  const cluster = await stores.shards.fixCluster(randomness.hex(16));
  const bus = opening.use(
    await openBus(config, foundation, { cluster, asks: ['engine', 'limiter'] }),
  );
  const factsOf = async (service: ShardedService) => {
    const shardCount = (await stores.shards.countOf(service)) ?? config.SERVICE_SHARDS;
    return { cluster, shardCount };
  };
  const [engines, limiters] = await Promise.all([factsOf('engine'), factsOf('limiter')]);
  const facts = { engines, limiters };
  const backends = opening.use(watchedBackends(config, foundation, bus, facts));
  const { engine, limiter, accountNews, list } = backends;
  const ownerOf = (accountId: string) => {
    const address = limiter.addressOf(accountId);
    if (address === undefined) {
      const text = 'no limiter is known that owns the meter of this account';
      throw faultFor('limiter_unavailable', text, { retryAfterS: 1 });
    }
    return adminClient(address, { timeoutMs: USAGE_MS_MAX, clock, tls: foundation.tls() });
  };
  const admin = accountAdmin({
    ...{ accounts: stores.accounts, keyUses: stores.keyUses, months: stores.meters },
    ...{ clock, randomness },
    announce: async (accountId) => accountNews.announce(accountId),
    usage: async (accountId) => await ownerOf(accountId).readUsage(accountId),
    resetUsage: async (accountId) => await ownerOf(accountId).resetUsage(accountId),
  });
  const opened = opening.move();
  return {
    ...{ admin, engine, limiter, accountNews, list },
    audit: auditTrailOf(foundation, stores.audit),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
