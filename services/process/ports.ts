/*
 * The one place where adapters are chosen. They are imported dynamically, so that a run on memory
 * never loads a driver (architecture 2).
 */
import type { BillingProvider } from '#billing/billing-provider';
import type { StripeOptions } from '#billing/stripe-provider';
import type { Bus } from '#bus/bus';
import { DROP_REASONS, type DropReason, signedBus } from '#bus/signed-bus';
import { type Config, ConfigError } from '#config';
import { Fault } from '#fault/fault';
import type { Reloadable } from '#platform/reloadable';
import type { Foundation } from '#process/foundation';
import { clusterSecretsOf, credentialsOf } from '#process/secret-files';
import { clientTlsOf } from '#process/tls-files';
import type { ManagedAccounts } from '#storage/account-store';
import type { AuditStore } from '#storage/audit-store';
import type { BillingStore } from '#storage/billing-store';
import { type BucketOf, bucketsOf } from '#storage/bucket-of';
import type { CassandraSession } from '#storage/cassandra/session';
import type { PeopleStores } from '#storage/forget-people';
import type { InstanceStore } from '#storage/instance-store';
import type { Journal } from '#storage/journal';
import type { JournalStore } from '#storage/journal-store';
import type { KeyUseStore } from '#storage/key-use-store';
import type { PagedListings } from '#storage/listing-store';
import type { ErasableMeters } from '#storage/meter-store';
import type { ServerClocks } from '#storage/server-clocks';
import type { ShardedService, ShardStore } from '#storage/shard-store';

/** What every process with stores has, wherever they are. */
type CommonStores = {
  readonly accounts: ManagedAccounts;
  readonly instances: InstanceStore;
  readonly listings: PagedListings;
  readonly meters: ErasableMeters;
  readonly audit: AuditStore;
  readonly billing: BillingStore;
  readonly keyUses: KeyUseStore;
} & PeopleStores;

/** The stores of a process that keeps its data to itself and forgets it at its end. */
export type LocalStores = CommonStores & {
  readonly kind: 'local';
  readonly engineJournal: Journal;
  readonly meterJournal: Journal;
};

/** The stores that the processes of a cluster share. */
export type SharedStores = CommonStores & {
  readonly kind: 'shared';
  readonly journals: JournalStore;
  readonly shards: ShardStore;
  readonly serverClocks: ServerClocks;
};

/** Every store that a process may need. */
type Stores = (LocalStores | SharedStores) & AsyncDisposable;

/** The stores that the configuration names. Rejects with `ConfigError` when they cannot be used. */
export async function openStores(config: Config, foundation: Foundation): Promise<Stores> {
  switch (config.SERVICE_STORAGE) {
    case 'memory':
      return { ...(await memoryStores(foundation)), [Symbol.asyncDispose]: async () => undefined };
    case 'cassandra':
      return await foundation.waits.during(
        () => `Cassandra at ${config.SERVICE_CASSANDRA_CONTACT_POINTS.join(',')}`,
        cassandraStores(config, foundation),
      );
  }
}

/** A payment provider, with all that it needs. */
export type ProviderChoice =
  | ({ readonly kind: 'stripe' } & StripeOptions)
  | { readonly kind: 'local'; readonly webhookSecrets: Reloadable<readonly string[]> };

/** Opens the provider; its library is 20 MB that no other process reads. */
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

/**
 * The bus that the configuration names: NATS, where everything is signed, or none but this
 * process's own. `cluster` is the cluster's id where it is known.
 */
export async function openBus(
  config: Config,
  foundation: Foundation,
  cluster?: string,
): Promise<Bus> {
  const bus = await busOf(config, foundation, cluster);
  const connected = foundation.metrics.gauge('bus_connected');
  foundation.metrics.beforeScrape(() => connected.set(bus.isConnected ? 1 : 0));
  return bus;
}

async function busOf(config: Config, foundation: Foundation, cluster?: string): Promise<Bus> {
  const { clock, onBug, logger, metrics } = foundation;
  const servers = config.SERVICE_NATS_URL;
  if (servers === undefined) {
    const { inProcessBus } = await import('#bus/in-process-bus');
    return inProcessBus({ clock, onBug });
  }
  const secrets = clusterSecretsOf(config, foundation);
  const { openNatsBus } = await import('#bus/nats-bus');
  const onNotice = (notice: string) => logger.warn(`NATS: ${notice}`);
  const name = config.SERVICE_NODE_NAME ?? 'identity-engine';
  const credentials = credentialsOf(config, 'SERVICE_NATS', foundation);
  const tls = clientTlsOf(config, 'SERVICE_NATS_TLS_FOLDER', foundation);
  const bus = await foundation.waits.during(
    () => `NATS at ${servers.join(',')}`,
    openNatsBus({ servers, name, clock, onBug, onNotice, credentials, tls }),
  );
  const dropped = metrics.counter('bus_dropped_total');
  // Shown from the first scrape on, or Prometheus could not see the first of each.
  for (const reason of DROP_REASONS) dropped.labels({ reason }).inc(0);
  const onDropped = (reason: DropReason) => dropped.labels({ reason }).inc();
  return signedBus({ bus, clock, secrets, cluster, onDropped, onNotice, onBug });
}

/** Makes the keyspace and its tables, or brings them up to date. `print` gets a line for each step. */
export async function migrateStores(
  config: Config,
  foundation: Foundation,
  print: (text: string) => void,
): Promise<void> {
  const { createKeyspace, migrate } = await import('#storage/cassandra/migrate');
  const { SERVICE_CASSANDRA_REPLICATION_FACTOR: copies, SERVICE_CASSANDRA_KEYSPACE: keyspace } =
    config;
  const factors = { [config.SERVICE_CASSANDRA_DATACENTER]: copies };
  await using bare = await sessionOf(config, foundation, undefined);
  await createKeyspace(bare, keyspace, { kind: 'by_data_center', factors });
  await using session = await sessionOf(config, foundation, keyspace);
  const { clock, randomness } = foundation;
  await migrate(session, { clock, randomness, print });
}

async function memoryStores({ clock }: Foundation): Promise<LocalStores> {
  const { memoryAccountStore } = await import('#storage/memory/memory-account-store');
  const { memoryAuditStore } = await import('#storage/memory/memory-audit-store');
  const { memoryBillingStore } = await import('#storage/memory/memory-billing-store');
  const { memoryInstanceStore } = await import('#storage/memory/memory-instance-store');
  const { memoryKeyUseStore } = await import('#storage/memory/memory-key-use-store');
  const { memoryListingStore } = await import('#storage/memory/memory-listing-store');
  const { memoryMeterStore } = await import('#storage/memory/memory-meter-store');
  const { memoryJournal } = await import('#storage/memory/memory-journal');
  return {
    kind: 'local',
    accounts: memoryAccountStore(clock),
    audit: memoryAuditStore(),
    instances: memoryInstanceStore(),
    listings: memoryListingStore(),
    meters: memoryMeterStore(),
    keyUses: memoryKeyUseStore(),
    billing: memoryBillingStore(),
    meterJournal: memoryJournal(),
    engineJournal: memoryJournal(),
    ...(await memoryPeople(clock)),
  };
}

async function memoryPeople(clock: Foundation['clock']): Promise<PeopleStores> {
  const { memoryMemberStore } = await import('#storage/memory/memory-member-store');
  const { memorySessionStore } = await import('#storage/memory/memory-session-store');
  const { memoryUserStore } = await import('#storage/memory/memory-user-store');
  return {
    users: memoryUserStore(),
    members: memoryMemberStore(),
    sessions: memorySessionStore(clock),
  };
}

async function cassandraPeople(session: CassandraSession): Promise<PeopleStores> {
  const { cassandraMemberStore } = await import('#storage/cassandra/cassandra-member-store');
  const { cassandraSessionStore } = await import('#storage/cassandra/cassandra-session-store');
  const { cassandraUserStore } = await import('#storage/cassandra/cassandra-user-store');
  return {
    users: cassandraUserStore(session),
    members: cassandraMemberStore(session),
    sessions: cassandraSessionStore(session),
  };
}

async function cassandraStores(config: Config, foundation: Foundation): Promise<Stores> {
  await using opening = new AsyncDisposableStack();
  const keyspace = config.SERVICE_CASSANDRA_KEYSPACE;
  const session = opening.use(await sessionOf(config, foundation, keyspace));
  await assertUsable(session, config, foundation);
  const { cassandraAccountStore } = await import('#storage/cassandra/cassandra-account-store');
  const { cassandraAuditStore } = await import('#storage/cassandra/cassandra-audit-store');
  const { cassandraBillingStore } = await import('#storage/cassandra/cassandra-billing-store');
  const { cassandraInstanceStore } = await import('#storage/cassandra/cassandra-instance-store');
  const { cassandraKeyUseStore } = await import('#storage/cassandra/cassandra-key-use-store');
  const { cassandraListingStore } = await import('#storage/cassandra/cassandra-listing-store');
  const { cassandraMeterStore } = await import('#storage/cassandra/cassandra-meter-store');
  const { cassandraJournalStore } = await import('#storage/cassandra/cassandra-journal-store');
  const { cassandraServerClocks } = await import('#storage/cassandra/cassandra-server-clocks');
  const { cassandraShardStore } = await import('#storage/cassandra/cassandra-shard-store');
  const shards = cassandraShardStore(session);
  const stores: SharedStores = {
    kind: 'shared',
    accounts: cassandraAccountStore(session, foundation.clock),
    audit: cassandraAuditStore(session),
    instances: cassandraInstanceStore(session, await bucketsIn(shards, 'engine', config)),
    listings: cassandraListingStore(session),
    meters: cassandraMeterStore(session, await bucketsIn(shards, 'limiter', config)),
    keyUses: cassandraKeyUseStore(session),
    billing: cassandraBillingStore(session),
    journals: cassandraJournalStore(session),
    shards,
    serverClocks: cassandraServerClocks(session),
    ...(await cassandraPeople(session)),
  };
  await warm(stores);
  const opened = opening.move();
  return { ...stores, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/**
 * Where the states of a service's actors lie. The number of shards that stands decides: `ctl` may
 * be configured with another. A node that is ends before it reads or stores anything.
 */
async function bucketsIn(
  shards: ShardStore,
  service: ShardedService,
  { SERVICE_SHARDS }: Config,
): Promise<BucketOf> {
  return bucketsOf((await shards.countOf(service)) ?? SERVICE_SHARDS);
}

/**
 * Asks once for what is not there: that prepares the statements and opens the connections, which
 * takes longer than the first caller's limiter check may.
 */
async function warm({ accounts, instances, listings, meters }: SharedStores): Promise<void> {
  const id = 'unknown';
  await Promise.all([
    accounts.find(id),
    meters.readHead(id),
    instances.readHead(id),
    listings.load(id),
  ]);
}

async function sessionOf(
  config: Config,
  foundation: Foundation,
  keyspace: string | undefined,
): Promise<CassandraSession> {
  const { openSession } = await import('#storage/cassandra/session');
  const { statementObserver } = await import('#storage/cassandra/statement-observer');
  const { clock, metrics } = foundation;
  const credentials = credentialsOf(config, 'SERVICE_CASSANDRA', foundation);
  const client = clientTlsOf(config, 'SERVICE_CASSANDRA_TLS_FOLDER', foundation);
  const serverName = config.SERVICE_CASSANDRA_TLS_NAME;
  if (client === undefined && serverName !== undefined) {
    throw new ConfigError('SERVICE_CASSANDRA_TLS_NAME is of no use without a TLS folder');
  }
  const tls = client === undefined ? undefined : { client, serverName };
  return await openSession({
    contactPoints: config.SERVICE_CASSANDRA_CONTACT_POINTS,
    localDataCenter: config.SERVICE_CASSANDRA_DATACENTER,
    keyspace,
    clock,
    observe: statementObserver(metrics),
    credentials,
    tls,
  });
}

/** The tables are there, and the servers lose nothing: refused in production, else a warning. */
async function assertUsable(
  session: CassandraSession,
  config: Config,
  { logger }: Foundation,
): Promise<void> {
  const { assertSchema } = await import('#storage/cassandra/migrate');
  const { serverProblems } = await import('#storage/cassandra/server-settings');
  try {
    await assertSchema(session);
  } catch (error) {
    if (error instanceof Fault && error.code === 'conflict') throw new ConfigError(error.message);
    throw error;
  }
  const { SERVICE_CASSANDRA_KEYSPACE: keyspace, SERVICE_CASSANDRA_DATACENTER: near } = config;
  const problems = await serverProblems(session, keyspace, near);
  if (config.SERVICE_ENVIRONMENT === 'production' && problems.length > 0) {
    throw new ConfigError(problems.join('; '));
  }
  for (const problem of problems) logger.warn(problem);
}
