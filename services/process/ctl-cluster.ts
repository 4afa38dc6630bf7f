import { type Config, ConfigError } from '#config';
import type { ClusterPorts } from '#ctl/command';
import { foundationOf } from '#process/foundation';
import { openBus, openStores } from '#process/ports';
import { assertProduction } from '#process/production';
import { adminClient } from '#wire/admin-client';

/** How long a node may take to answer an operator, in milliseconds. A live one takes a few. */
const ADMIN_MS_MAX = 3_000;

/**
 * The cluster of the configuration, for `ctl`. Rejects with a `ConfigError` when its stores are in
 * the memory of another process, and as they do when they cannot be used.
 */
export async function openCtlCluster(config: Config): Promise<ClusterPorts & AsyncDisposable> {
  assertProduction(config, 'ctl');
  // The operator who repairs a cluster must get in also when its servers are not as they should be.
  const lenient = {
    ...config,
    SERVICE_ENVIRONMENT: 'development',
    SERVICE_LOG_LEVEL: 'silent',
  } as const;
  const foundation = foundationOf(lenient, 'ctl');
  const stores = await openStores(lenient, foundation);
  if (stores.kind === 'local') {
    throw new ConfigError('SERVICE_STORAGE: of a cluster in memory other processes see nothing');
  }
  const { clock, tls } = foundation;
  return {
    shards: stores.shards,
    journals: stores.journals,
    instances: stores.instances,
    clock,
    prefix: config.SERVICE_NATS_PREFIX,
    openBus: () => openBus(lenient, foundation),
    // TLS is read only for a command that speaks to a node: the others must not fail for it.
    adminAt: (address) => adminClient(address, { timeoutMs: ADMIN_MS_MAX, clock, tls: tls() }),
    [Symbol.asyncDispose]: () => stores[Symbol.asyncDispose](),
  };
}
