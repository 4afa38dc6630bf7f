import type { AccountNews } from '#accounts/account';
import type { Bus } from '#bus/bus';
import type { Config } from '#config';
import { composeEdge } from '#edge/app';
import type { CourierClient } from '#grpc/courier-messages';
import type { EngineClient } from '#grpc/engine-messages';
import type { LimiterClient } from '#grpc/limiter-messages';
import { busAccountNews } from '#startup/cluster';
import { clusterOfOne, FILE_ADDRESS } from '#startup/cluster-of-one';
import { consoleBeside } from '#startup/console';
import { courierInProcess } from '#startup/courier';
import { edgeConfigOf } from '#startup/edge';
import { engineAlone } from '#startup/engine';
import { limiterAlone } from '#startup/limiter';
import { type LocalAccount, localAccount } from '#startup/local-account';
import { type OpenOverview, overviewOfAlone, overviewOfCluster } from '#startup/overview';
import { openBus, openStores } from '#startup/ports';
import { type Administration, openAdminPort } from '#startup/process/admin-port';
import { type Foundation, openFoundation, serveOperators } from '#startup/process/dependencies';
import type { Opened } from '#startup/process/lifetime';
import { sqliteFileOf } from '#startup/stores/sqlite';
import type { LocalStores, SharedStores } from '#startup/stores/store-set';
import { STANDARD_OUTPUT } from '#telemetry/logger';

/** Opens all services in one process with direct calls: the local deployment of interface 1.7. */
export async function openStandalone(given: Config, stop?: AbortSignal): Promise<Opened> {
  await using opening = new AsyncDisposableStack();
  const foundation = opening.use(await openFoundation(given, 'standalone', stop));
  const operators = opening.use(await serveOperators(given, foundation));
  const stores = opening.use(await openStores(given, foundation));
  const config = withOwnSecret(given, stores);
  const bus = opening.use(await openBus({ ...config, SERVICE_NATS_URL: undefined }, foundation));
  // No drain period, because no other edge can take over the callers.
  const edgeConfig = { ...edgeConfigOf(config, foundation), drainMs: 0 };
  const { clusterSecrets } = edgeConfig;
  const courier = opening.use(courierInProcess(config, foundation, clusterSecrets));
  const backends = opening.use(
    stores.kind === 'local'
      ? await onMemory(config, foundation, stores, bus, courier)
      : await onStores(config, foundation, { stores, bus, courier }, operators.address),
  );
  const { engine, limiter, administration, accountNews, overview } = backends;
  const admin = opening.use(await openAdminPort(config, foundation, administration, overview));
  const { clock, randomness, metrics, logger, tracer } = foundation;
  const { admin: accounts, audit } = administration;
  const behind = { admin: accounts, audit, engine, limiter, accountNews };
  const edgePorts = { engine, limiter, clock, randomness, metrics, logger, accountNews, tracer };
  const edge = opening.use(await composeEdge(edgeConfig, edgePorts));
  const people = config.SERVICE_CONSOLE_ENABLED
    ? opening.use(
        await consoleBeside(config, foundation, stores, behind, {
          ...{ clusterSecrets, apiAddress: edge.address },
        }),
      )
    : undefined;
  stop?.throwIfAborted();
  opening.use(operators.ready());
  const account = config.SERVICE_LOCAL_ACCOUNT ? await localAccount(administration) : undefined;
  const { address: adminAddress } = admin;
  const addresses = { api: edge.address, metrics: operators.address, admin: adminAddress };
  logger.info({ addresses }, 'ready');
  STANDARD_OUTPUT.write(
    welcome({
      api: edge.address,
      account,
      metrics: operators.address,
      admin: admin.address,
      isDocumented: config.SERVICE_DOCS_ENABLED,
      console: account === undefined ? people?.origin : await people?.firstAddress(),
      place: placeOf(config),
    }),
  );
  return opening.move();
}

/**
 * Configuration with the cluster secret that is stored with the data, if no secret is configured.
 * The secret must survive a restart, so that the service recognises a retry.
 */
function withOwnSecret(config: Config, stores: LocalStores | SharedStores): Config {
  const own = stores.kind === 'shared' ? stores.ownSecret : undefined;
  if (config.SERVICE_CLUSTER_SECRET !== undefined || own === undefined) return config;
  return { ...config, SERVICE_CLUSTER_SECRET: [own] };
}

/** Storage location, for display. */
function placeOf(config: Config): string {
  switch (config.SERVICE_STORAGE) {
    case 'memory':
      return 'memory, and lost when the process stops';
    case 'sqlite':
      return `the file ${sqliteFileOf(config)}`;
    case 'cassandra':
      return 'Cassandra';
  }
}

/** Backends of the edge in this process. */
type Backends = AsyncDisposable & {
  readonly engine: EngineClient;
  readonly limiter: LimiterClient;
  readonly administration: Administration;
  readonly accountNews: AccountNews;
  readonly overview: OpenOverview;
};

async function onMemory(
  config: Config,
  foundation: Foundation,
  stores: LocalStores,
  bus: Bus,
  courier: CourierClient,
): Promise<Backends> {
  await using opening = new AsyncDisposableStack();
  const accountNews = busAccountNews({ bus, prefix: config.SERVICE_NATS_PREFIX, cluster: 'alone' });
  const limiter = opening.use(await limiterAlone(config, foundation, stores, accountNews));
  const engine = opening.use(engineAlone(config, foundation, stores, courier));
  const loads = { engine: () => engine.load, limiter: limiter.load };
  const overview = opening.use(await overviewOfAlone(foundation, loads));
  const opened = opening.move();
  return {
    engine,
    limiter: limiter.client,
    administration: limiter,
    accountNews,
    overview,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Opens the only nodes of a cluster on a durable store. */
async function onStores(
  config: Config,
  foundation: Foundation,
  parts: { readonly stores: SharedStores; readonly bus: Bus; readonly courier: CourierClient },
  operatorsAddress: string,
): Promise<Backends> {
  await using opening = new AsyncDisposableStack();
  const { stores, bus, courier } = parts;
  // The process has no gRPC port, so the operators' port identifies the process.
  const address =
    config.SERVICE_STORAGE === 'sqlite' ? FILE_ADDRESS : new URL(operatorsAddress).host;
  const one = opening.use(await clusterOfOne(config, foundation, parts, address, courier));
  const { engine, limiter, cluster, administration, readLoad } = one;
  const overview = opening.use(await overviewOfCluster(config, foundation, stores, bus, readLoad));
  const opened = opening.move();
  return {
    ...{ engine, limiter, administration, overview },
    accountNews: busAccountNews({ bus, prefix: config.SERVICE_NATS_PREFIX, cluster }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Addresses of a started service: URLs without a trailing slash. */
type Addresses = {
  readonly api: string;
  /** Local account. Undefined unless the configuration requests the account. */
  readonly account: LocalAccount | undefined;
  readonly metrics: string;
  readonly admin: string;
  /** Console, or the set-up link for its first user. Undefined without a console. */
  readonly console: string | undefined;
  readonly isDocumented: boolean;
  /** Storage location: `Cassandra`, a file, or memory. */
  readonly place: string;
};

/** Text for the person who started the service: addresses, and the next command. */
function welcome(addresses: Addresses): string {
  const { api, account, metrics, admin, isDocumented, place } = addresses;
  const lines = [
    `Identity Engine Service is ready. Data is kept in ${place}.`,
    '',
    `  API      ${api}/v1`,
    ...(isDocumented ? [`  Docs     ${api}/docs   ${api}/redoc   ${api}/openapi.json`] : []),
    `  Metrics  ${metrics}/metrics`,
    `  Admin    ${admin}   (ctl)   ${admin}/cluster`,
    ...consoleLines(addresses.console),
    ...accountLines(api, account),
    '',
    'Press Ctrl-C to stop.',
    '',
  ];
  return `${lines.join('\n')}\n`;
}

/** The link of the console. A set-up link is followed by its purpose. */
function consoleLines(address: string | undefined): string[] {
  if (address === undefined) return [];
  const line = `  Console  ${address}`;
  if (!address.includes('#')) return [line];
  return [
    line,
    '           Open this link to create your user. The link works once, for 24 hours.',
  ];
}

function accountLines(api: string, account: LocalAccount | undefined): string[] {
  switch (account?.kind) {
    case undefined:
      return [];
    case 'made':
      return tryIt(api, account.key);
    case 'found':
      return [
        '  API key  printed when the account "local" was created. To create another key:',
        `           make ctl ARGS="keys create ${account.id}"`,
      ];
  }
}

function tryIt(api: string, key: string): string[] {
  return [
    `  API key  ${key}`,
    '',
    'Create an instance:',
    '',
    `  curl -s ${api}/v1/instances -H 'Authorization: Bearer ${key}' \\`,
    `    -H 'Content-Type: application/json' -d '{"name":"Ada"}'`,
  ];
}
