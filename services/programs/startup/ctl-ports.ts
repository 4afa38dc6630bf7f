import { type Config, ConfigError } from '#config';
import { ownedShards } from '#ctl/cluster/snapshot';
import type { ActingCluster, ClusterPorts, FilePorts } from '#ctl/command';
import { Fault } from '#errors/fault';
import { adminClient } from '#grpc/admin';
import { busAccountNews, engineConnector, watchedEngines } from '#startup/cluster';
import { clusterOfOne, FILE_ADDRESS } from '#startup/cluster-of-one';
import { ctlConfig } from '#startup/ctl-config';
import { openBus, openStores } from '#startup/ports';
import { type Foundation, foundationOf } from '#startup/process/dependencies';
import { holdSqliteFile, sqliteDataFileOf, sqliteFileOf } from '#startup/stores/sqlite';
import type { SharedStores } from '#startup/stores/store-set';
import { systemClock } from '#stdlib/clock';
import { releaseOf } from '#stdlib/release';

/** Timeout of a node's answer to an operator, in milliseconds. Healthy nodes answer in a few ms. */
const ADMIN_MS_MAX = 3_000;

/**
 * Opens the configured cluster for `ctl`. Rejects with `ConfigError` if its stores are in the
 * memory of another process. Rejects as `openStores` if the stores cannot be used.
 */
export async function openCtlCluster(config: Config): Promise<ClusterPorts & AsyncDisposable> {
  const lenient = ctlConfig(config);
  const foundation = foundationOf(lenient, 'ctl');
  const stores = await openStores(lenient, foundation);
  if (stores.kind === 'local') {
    throw new ConfigError(
      'SERVICE_STORAGE: ctl cannot read the memory of another process: set sqlite or cassandra',
    );
  }
  const { clock, tls } = foundation;
  const isFile = config.SERVICE_STORAGE === 'sqlite';
  return {
    shards: stores.shards,
    journals: stores.journals,
    instances: stores.instances,
    accounts: stores.accounts,
    listings: stores.listings,
    meters: stores.meters,
    feeds: stores.feeds,
    audit: stores.audit,
    keyUses: stores.keyUses,
    people: { users: stores.users, members: stores.members, sessions: stores.sessions },
    billing: stores.billing,
    serverClocks: stores.serverClocks,
    retentionOfPlans: config.SERVICE_RETENTION_DAYS ?? {},
    clock,
    release: releaseOf(),
    consoleOrigin: config.SERVICE_CONSOLE_ORIGIN ?? (isFile ? localConsole(config) : undefined),
    prefix: config.SERVICE_NATS_PREFIX,
    file: isFile ? sqliteFileOf(config) : undefined,
    openBus: () => openBus(lenient, foundation),
    openActing: () =>
      isFile
        ? openActingOnFile(lenient, foundation, stores)
        : openActing(lenient, foundation, stores),
    // TLS files are read only for commands that call a node. Other commands work without the files.
    adminAt: (address) =>
      isFile ? NO_NODE : adminClient(address, { timeoutMs: ADMIN_MS_MAX, clock, tls: tls() }),
    [Symbol.asyncDispose]: () => stores[Symbol.asyncDispose](),
  };
}

/** A process that serves a file has no port for other processes. */
const NO_NODE = { drain: unreachable, readInstance: unreachable };

async function unreachable(): Promise<never> {
  throw new Fault('service_unavailable', 'a process with a data file has no cluster port');
}

/** Console address of a process that serves a file on this machine. */
function localConsole({ SERVICE_CONSOLE_PORT: port }: Config): string | undefined {
  return port === 0 ? undefined : `http://127.0.0.1:${port}`;
}

/**
 * Serves the file with an engine and a limiter in this process, as a standalone process does.
 * Rejects with `ConfigError` while another process serves the file.
 */
async function openActingOnFile(
  config: Config,
  foundation: Foundation,
  stores: SharedStores,
): Promise<ActingCluster> {
  await using opening = new AsyncDisposableStack();
  opening.use(await holdSqliteFile(config, foundation));
  const { shardCount } = await ownedShards(stores, 'engine');
  const asMade = { ...config, SERVICE_SHARDS: shardCount, SERVICE_NATS_URL: undefined };
  const bus = opening.use(await openBus(asMade, foundation));
  const one = opening.use(
    await clusterOfOne(asMade, foundation, { stores, bus }, FILE_ADDRESS, undefined),
  );
  const news = busAccountNews({ bus, prefix: config.SERVICE_NATS_PREFIX, cluster: one.cluster });
  const opened = opening.move();
  return {
    engine: one.engine,
    announce: (accountId) => news.announce(accountId),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/**
 * Opens an engine client as in an edge. The cluster id and the shard count come from the stores.
 */
async function openActing(
  config: Config,
  foundation: Foundation,
  { shards }: SharedStores,
): Promise<ActingCluster> {
  if (config.SERVICE_NATS_URL === undefined) {
    throw new ConfigError('SERVICE_NATS_URL is not set: this command finds an engine through NATS');
  }
  const { cluster, shardCount } = await ownedShards({ shards }, 'engine');
  await using opening = new AsyncDisposableStack();
  const facts = { cluster, shardCount };
  const bus = opening.use(await openBus(config, foundation, { cluster }));
  const connect = engineConnector(foundation);
  const engine = opening.use(watchedEngines(config, foundation, bus, facts, connect));
  const news = busAccountNews({ bus, prefix: config.SERVICE_NATS_PREFIX, cluster });
  await engine.ready();
  const opened = opening.move();
  return {
    engine,
    announce: (accountId) => news.announce(accountId),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/**
 * Opens the configured file for `ctl`. When `interrupted` aborts, a command removes its unfinished
 * output. Rejects with `ConfigError` for another storage.
 */
export async function openCtlFile(config: Config, interrupted: AbortSignal): Promise<FilePorts> {
  const storage = config.SERVICE_STORAGE;
  if (storage !== 'sqlite') {
    throw new ConfigError(
      `SERVICE_STORAGE: backup, restore and vacuum are for sqlite, not for ${storage} (docs/backup.md)`,
    );
  }
  return {
    clock: systemClock,
    file: await sqliteDataFileOf(config, { clock: systemClock }),
    interrupted,
  };
}
