import { AuditTrail } from '#audit/audit-trail';
import type { Config } from '#config';
import { faultFor } from '#fault/fault';
import { accountAdmin } from '#limiter/account-admin';
import type { Administration } from '#process/admin-port';
import { busAccountNews } from '#process/bus-account-news';
import { limiterConnector, watchedLimiters } from '#process/cluster';
import type { Foundation } from '#process/foundation';
import { openBus, type SharedStores } from '#process/ports';
import { adminClient } from '#wire/admin-client';
import type { LimiterClient } from '#wire/limiter-messages';

/** How long a limiter may take to say what an account has used, in milliseconds. */
const USAGE_MS_MAX = 3_000;

/**
 * The accounts of a cluster for a process that is none of its limiters: it changes them in their stores,
 * announces that on the bus, asks the owners of meters for what has been used, and has limiters answer
 * what is asked of accounts.
 */
export async function clusterAccounts(
  config: Config,
  foundation: Foundation,
  stores: SharedStores,
): Promise<Administration & { readonly limiter: LimiterClient } & AsyncDisposable> {
  await using opening = new AsyncDisposableStack();
  const { clock, randomness } = foundation;
  const cluster = await stores.shards.fixCluster(randomness.hex(16));
  const bus = opening.use(await openBus(config, foundation, cluster));
  const shardCount = (await stores.shards.countOf('limiter')) ?? config.SERVICE_SHARDS;
  const facts = { cluster, shardCount };
  const connect = limiterConnector(config, foundation);
  const limiters = opening.use(watchedLimiters(config, foundation, bus, facts, connect));
  const news = busAccountNews({ bus, prefix: config.SERVICE_NATS_PREFIX, cluster });
  const ownerOf = (accountId: string) => {
    const address = limiters.addressOf(accountId);
    if (address === undefined) {
      const text = 'no limiter is known that counts for this account';
      throw faultFor('limiter_unavailable', text, { retryAfterS: 1 });
    }
    return adminClient(address, { timeoutMs: USAGE_MS_MAX, clock, tls: foundation.tls() });
  };
  const admin = accountAdmin({
    ...{ accounts: stores.accounts, keyUses: stores.keyUses, months: stores.meters },
    ...{ clock, randomness },
    announce: async (accountId) => news.announce(accountId),
    usage: async (accountId) => await ownerOf(accountId).readUsage(accountId),
    resetUsage: async (accountId) => await ownerOf(accountId).resetUsage(accountId),
  });
  const opened = opening.move();
  return {
    admin,
    limiter: limiters,
    audit: new AuditTrail({ store: stores.audit, clock }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
