/*
 * Stores on Cassandra. Adapters are imported dynamically, so that a run without Cassandra never
 * loads the driver (architecture 2).
 */
import { type Config, ConfigError } from '#config';
import { Fault } from '#errors/fault';
import type { Foundation } from '#startup/process/dependencies';
import { credentialsOf } from '#startup/process/secrets';
import { clientTlsOf } from '#startup/process/tls';
import { bucketsIn } from '#startup/stores/actor-buckets';
import type { ManagedPeople, SharedStores } from '#startup/stores/store-set';
import type { CassandraSession } from '#storage/cassandra/session';

/**
 * Creates or migrates the keyspace and its tables. Calls `print` with a line for each step.
 */
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

/**
 * Opens the stores of the configured keyspace. Rejects with `ConfigError` if they cannot be used.
 */
export async function cassandraStores(
  config: Config,
  foundation: Foundation,
): Promise<SharedStores & AsyncDisposable> {
  await using opening = new AsyncDisposableStack();
  const keyspace = config.SERVICE_CASSANDRA_KEYSPACE;
  const session = opening.use(await sessionOf(config, foundation, keyspace));
  await assertUsable(session, config, foundation);
  const { cassandraAccountStore } = await import('#storage/cassandra/accounts');
  const { cassandraAuditStore } = await import('#storage/cassandra/audit');
  const { cassandraBillingStore } = await import('#storage/cassandra/billing');
  const { cassandraFeedStore } = await import('#storage/cassandra/feeds');
  const { cassandraInstanceStore } = await import('#storage/cassandra/instances');
  const { cassandraKeyUseStore } = await import('#storage/cassandra/account-rows');
  const { cassandraListingStore } = await import('#storage/cassandra/listings');
  const { cassandraMeterStore } = await import('#storage/cassandra/meters');
  const { cassandraJournalStore } = await import('#storage/cassandra/journals');
  const { cassandraServerClocks } = await import('#storage/cassandra/shards');
  const { cassandraShardStore } = await import('#storage/cassandra/shards');
  const shards = cassandraShardStore(session);
  const bucketOfEngine = await bucketsIn(shards, 'engine', config);
  const stores: SharedStores = {
    kind: 'shared',
    accounts: cassandraAccountStore(session, foundation.clock),
    audit: cassandraAuditStore(session),
    instances: cassandraInstanceStore(session, bucketOfEngine),
    listings: cassandraListingStore(session),
    meters: cassandraMeterStore(session, await bucketsIn(shards, 'limiter', config)),
    feeds: cassandraFeedStore(session, bucketOfEngine),
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

async function cassandraPeople(session: CassandraSession): Promise<ManagedPeople> {
  const { cassandraMemberStore } = await import('#storage/cassandra/people');
  const { cassandraSessionStore } = await import('#storage/cassandra/people');
  const { cassandraUserStore } = await import('#storage/cassandra/people');
  return {
    users: cassandraUserStore(session),
    members: cassandraMemberStore(session),
    sessions: cassandraSessionStore(session),
  };
}

/**
 * Queries missing rows, to prepare the statements and open the connections. Otherwise the first
 * caller's limiter check would time out.
 */
async function warm({ accounts, feeds, instances, listings, meters }: SharedStores): Promise<void> {
  const id = 'unknown';
  await Promise.all([
    accounts.find(id),
    meters.readHead(id),
    feeds.readHead(id),
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
  const { statementObserver } = await import('#storage/cassandra/statements');
  const { clock, metrics } = foundation;
  const contactPoints = config.SERVICE_CASSANDRA_CONTACT_POINTS;
  const dependency = foundation.dependencies.watch('Cassandra', contactPoints.join(','));
  const credentials = credentialsOf(config, 'SERVICE_CASSANDRA', foundation);
  const client = clientTlsOf(config, 'SERVICE_CASSANDRA_TLS_FOLDER', foundation);
  const serverName = config.SERVICE_CASSANDRA_TLS_NAME;
  if (client === undefined && serverName !== undefined) {
    throw new ConfigError('SERVICE_CASSANDRA_TLS_NAME needs SERVICE_CASSANDRA_TLS_FOLDER');
  }
  const tls = client === undefined ? undefined : { client, serverName };
  return await openSession({
    contactPoints,
    localDataCenter: config.SERVICE_CASSANDRA_DATACENTER,
    keyspace,
    clock,
    observe: statementObserver(metrics, dependency),
    credentials,
    tls,
  });
}

/**
 * Checks that the tables exist and that the server settings make writes durable. A server problem
 * throws `ConfigError` in production, and logs a warning elsewhere.
 */
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
