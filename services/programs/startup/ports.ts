/*
 * The only module that chooses adapters. Adapters are imported dynamically, so that a run with
 * in-memory storage never loads a driver (architecture 2).
 */
import type { BillingProvider } from '#billing/provider';
import type { StripeOptions } from '#billing/stripe-provider';
import type { Bus } from '#bus/bus';
import { DROP_REASONS, type DropReason, signedBus } from '#bus/signed-bus';
import type { PulledBus } from '#cluster/pulled-bus';
import type { Config } from '#config';
import { adminClient } from '#grpc/admin';
import type { Foundation } from '#startup/process/dependencies';
import { clusterSecretsOf, credentialsOf } from '#startup/process/secrets';
import { clientTlsOf } from '#startup/process/tls';
import type { LocalStores, ManagedPeople, SharedStores } from '#startup/stores/store-set';
import type { Reloadable } from '#stdlib/files';
import type { ShardedService } from '#storage/ports/cluster';

/** Timeout of a question for the messages of a node, in milliseconds. */
const PULL_MS_MAX = 1_000;

/** Stores of a process. */
type Stores = (LocalStores | SharedStores) & AsyncDisposable;

/** Opens the configured stores. Rejects with `ConfigError` if they cannot be used. */
export async function openStores(config: Config, foundation: Foundation): Promise<Stores> {
  switch (config.SERVICE_STORAGE) {
    case 'memory':
      return { ...(await memoryStores(foundation)), [Symbol.asyncDispose]: async () => undefined };
    case 'cassandra':
      return await foundation.waits.during(
        () => `Cassandra at ${config.SERVICE_CASSANDRA_CONTACT_POINTS.join(',')}`,
        openCassandra(config, foundation),
      );
    case 'sqlite': {
      const { sqliteStores } = await import('#startup/stores/sqlite');
      return await sqliteStores(config, foundation);
    }
  }
}

/** Starts what the configured stores of a standalone process need, while its modules load. */
export async function prepareStores({ SERVICE_STORAGE: storage }: Config): Promise<void> {
  if (storage !== 'sqlite') return;
  const { startSpareThreads } = await import('#storage/sqlite/spare-threads');
  startSpareThreads();
}

/** Payment provider with its options. */
export type ProviderChoice =
  | ({ readonly kind: 'stripe' } & StripeOptions)
  | { readonly kind: 'local'; readonly webhookSecrets: Reloadable<readonly string[]> };

/** Opens a payment provider. Its library is 20 MB and loaded only on demand. */
export async function openBillingProvider(choice: ProviderChoice): Promise<BillingProvider> {
  switch (choice.kind) {
    case 'stripe': {
      const { stripeProvider } = await import('#billing/stripe-provider');
      return stripeProvider(choice);
    }
    case 'local': {
      const { localProvider } = await import('#billing/local-provider');
      return localProvider(choice.webhookSecrets);
    }
  }
}

/** The place of a process in its cluster. */
type BusPlace = {
  /** Id of the cluster, if known. */
  readonly cluster?: string | undefined;
  /**
   * Services whose nodes this process asks for their messages while NATS is away. Default: none.
   */
  readonly asks?: readonly ShardedService[];
};

/** A bus, and the messages that this process published on it after a position. */
type OpenedBus = Bus & Partial<Pick<PulledBus, 'recent'>>;

/** Opens the configured bus: NATS with signed messages, or an in-process bus. */
export async function openBus(
  config: Config,
  foundation: Foundation,
  place: BusPlace = {},
): Promise<OpenedBus> {
  const bus = await busOf(config, foundation, place);
  const connected = foundation.metrics.gauge('bus_connected');
  foundation.metrics.beforeScrape(() => connected.set(bus.isConnected ? 1 : 0));
  return bus;
}

async function busOf(
  config: Config,
  foundation: Foundation,
  { cluster, asks = [] }: BusPlace,
): Promise<OpenedBus> {
  const { clock, onBug, logger, metrics } = foundation;
  const servers = config.SERVICE_NATS_URL;
  if (servers === undefined) {
    const { inProcessBus } = await import('#bus/in-process-bus');
    return inProcessBus({ clock, onBug });
  }
  const secrets = clusterSecretsOf(config, foundation);
  const { openNatsBus } = await import('#bus/nats-bus');
  const name = config.SERVICE_NODE_NAME ?? 'identity-engine';
  const credentials = credentialsOf(config, 'SERVICE_NATS', foundation);
  const tls = clientTlsOf(config, 'SERVICE_NATS_TLS_FOLDER', foundation);
  const dependency = foundation.dependencies.watch('NATS', servers.join(','));
  const bus = await foundation.waits.during(
    () => `NATS at ${servers.join(',')}`,
    openNatsBus({ servers, name, clock, onBug, logger, dependency, credentials, tls }),
  );
  const dropped = metrics.counter('bus_dropped_total');
  // Zero from the first scrape on, because Prometheus cannot see the first increment otherwise.
  for (const reason of DROP_REASONS) dropped.labels({ reason }).inc(0);
  const onDropped = (reason: DropReason) => dropped.labels({ reason }).inc();
  const signing = { bus, clock, secrets, cluster, onDropped, logger, onBug };
  // Only a process that pulls needs the certificates for calls of nodes.
  if (asks.length === 0) return signedBus(signing);
  const { RecentMessages } = await import('#bus/node-pull');
  const { pulledBus } = await import('#cluster/pulled-bus');
  const recent = new RecentMessages(clock);
  const onPublished = (subject: string, message: Uint8Array) => recent.add(subject, message);
  const signed = signedBus({ ...signing, onPublished });
  const call = { timeoutMs: PULL_MS_MAX, clock, tls: foundation.tls() };
  return pulledBus(signed, {
    ...{ clock, prefix: config.SERVICE_NATS_PREFIX, services: asks, recent },
    pull: (service) => (address, after) => adminClient(address, call).pull(service, after),
  });
}

async function memoryStores({ clock }: Foundation): Promise<LocalStores> {
  const { memoryAccountStore } = await import('#storage/memory/accounts');
  const { memoryAuditStore } = await import('#storage/memory/meters');
  const { memoryBillingStore } = await import('#storage/memory/meters');
  const { memoryFeedStore } = await import('#storage/memory/feeds');
  const { memoryInstanceStore } = await import('#storage/memory/instances');
  const { memoryKeyUseStore } = await import('#storage/memory/accounts');
  const { memoryListingStore } = await import('#storage/memory/instances');
  const { memoryMeterStore } = await import('#storage/memory/meters');
  const { memoryJournal } = await import('#storage/memory/meters');
  return {
    kind: 'local',
    accounts: memoryAccountStore(clock),
    audit: memoryAuditStore(),
    instances: memoryInstanceStore(),
    listings: memoryListingStore(),
    meters: memoryMeterStore(),
    feeds: memoryFeedStore(),
    keyUses: memoryKeyUseStore(),
    billing: memoryBillingStore(),
    meterJournal: memoryJournal(),
    engineJournal: memoryJournal(),
    ...(await memoryPeople(clock)),
  };
}

async function memoryPeople(clock: Foundation['clock']): Promise<ManagedPeople> {
  const { memoryMemberStore } = await import('#storage/memory/people');
  const { memorySessionStore } = await import('#storage/memory/people');
  const { memoryUserStore } = await import('#storage/memory/people');
  return {
    users: memoryUserStore(),
    members: memoryMemberStore(),
    sessions: memorySessionStore(clock),
  };
}

async function openCassandra(config: Config, foundation: Foundation): Promise<Stores> {
  const { cassandraStores } = await import('#startup/stores/cassandra');
  return await cassandraStores(config, foundation);
}
