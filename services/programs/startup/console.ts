import { hasOwner } from '#accounts/people';
import { type Config, ConfigError } from '#config';
import { composeConsole } from '#console/app/app';
import type { ConsoleConfig, ConsolePorts } from '#console/app/ports';
import { makeSetUpLink } from '#console/people/entry';
import { clusterAccess } from '#startup/cluster-access';
import { LOCAL_ACCOUNT_ID } from '#startup/local-account';
import { openStores } from '#startup/ports';
import { type Administration, openProcessPort } from '#startup/process/admin-port';
import { type Foundation, openFoundation, serveOperators } from '#startup/process/dependencies';
import { type Opened, say } from '#startup/process/lifetime';
import { clusterSecretsOf } from '#startup/process/secrets';
import type { LocalStores, SharedStores } from '#startup/stores/store-set';
import { sleep } from '#stdlib/clock';
import type { Reloadable } from '#stdlib/files';
import { isLoopbackHost } from '#stdlib/network';

/** Console of a standalone process, with the address for its first visitor. */
type ConsoleBeside = AsyncDisposable & {
  readonly origin: string;
  /** Address of the console, or a new set-up link if the local account has no owner. */
  readonly firstAddress: () => Promise<string>;
};

/** Ports behind a console: administration, and clients of the engines and limiters. */
type Behind = Administration & Pick<ConsolePorts, 'engine' | 'limiter' | 'accountNews'>;

/**
 * Maximum wait for the nodes at start, in milliseconds. Without nodes, the console serves only keys
 * and members.
 */
const NODES_MS_MAX = 3_000;

/** Opens a console process for the accounts of a cluster on Cassandra. */
export async function openConsole(config: Config, stop: AbortSignal): Promise<Opened> {
  await using opening = new AsyncDisposableStack();
  const foundation = opening.use(await openFoundation(config, 'console', stop));
  const operators = opening.use(await serveOperators(config, foundation));
  if (config.SERVICE_CLUSTER_SECRET === undefined) {
    throw new ConfigError('SERVICE_CLUSTER_SECRET: a console needs the secret of its cluster');
  }
  if (config.SERVICE_STORAGE !== 'cassandra') {
    throw new ConfigError(
      'SERVICE_STORAGE: a separate console needs cassandra, shared with its cluster',
    );
  }
  if (config.SERVICE_NATS_URL === undefined) {
    throw new ConfigError(
      'SERVICE_NATS_URL is not set: a console finds the nodes of its cluster through NATS',
    );
  }
  const stores = opening.use(await openStores(config, foundation));
  if (stores.kind === 'local') throw new Error('Cassandra is shared');
  const behind = opening.use(await clusterAccess(config, foundation, stores));
  const { engine, limiter } = behind;
  const heard = Promise.all([engine.ready(), limiter.ready()]);
  await Promise.race([heard, sleep(foundation.clock, NODES_MS_MAX)]);
  const own = {
    ...{ clusterSecrets: clusterSecretsOf(config, foundation), localAccountId: undefined },
    api: apiAddressesOf(config, undefined),
  };
  const running = opening.use(await consoleOn(config, foundation, stores, behind, own));
  const port = await openProcessPort(config, foundation);
  if (port !== undefined) opening.use(port);
  opening.use(operators.ready());
  opening.use(behind.list('console'));
  say(foundation, { console: running.origin, metrics: `${operators.address}/metrics` });
  return opening.move();
}

/** Facts about the edge in the same process. */
type Beside = {
  readonly clusterSecrets: Reloadable<readonly string[]>;
  /** Address of the edge's listener, such as `http://127.0.0.1:8000`. */
  readonly apiAddress: string;
};

/**
 * Opens the console of a standalone process, on the same stores and with the secrets of its edge.
 */
export async function consoleBeside(
  config: Config,
  foundation: Foundation,
  stores: LocalStores | SharedStores,
  behind: Behind,
  { clusterSecrets, apiAddress }: Beside,
): Promise<ConsoleBeside> {
  const own = {
    ...{ clusterSecrets, localAccountId: LOCAL_ACCOUNT_ID },
    api: apiAddressesOf(config, apiAddress),
  };
  const running = await consoleOn(config, foundation, stores, behind, own);
  const { origin } = running;
  const { clock, randomness } = foundation;
  const ports = { members: stores.members, clock, randomness };
  return {
    origin,
    firstAddress: async () => {
      if (hasOwner(await stores.members.find(LOCAL_ACCOUNT_ID))) return origin;
      const entry = { actor: { kind: 'service', id: 'standalone' }, outcome: 'begun' } as const;
      await behind.audit.append(LOCAL_ACCOUNT_ID, {
        ...entry,
        action: 'account.setup_link',
      });
      return (await makeSetUpLink(ports, LOCAL_ACCOUNT_ID, origin)) ?? origin;
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

async function consoleOn(
  config: Config,
  foundation: Foundation,
  stores: LocalStores | SharedStores,
  { admin, audit: trail, engine, limiter, accountNews }: Behind,
  own: Pick<ConsoleConfig, 'clusterSecrets' | 'localAccountId' | 'api'>,
) {
  const { SERVICE_CONSOLE_HOST: host, SERVICE_CONSOLE_ORIGIN: origin } = config;
  if (origin === undefined && !isLoopbackHost(host.includes(':') ? `[${host}]` : host)) {
    const text = `${host} is reachable from other machines: set SERVICE_CONSOLE_ORIGIN to the public address`;
    throw new ConfigError(`SERVICE_CONSOLE_HOST: ${text}`);
  }
  const { users, sessions, members, accounts } = stores;
  const { clock, randomness, logger, metrics } = foundation;
  const consoleConfig: ConsoleConfig = {
    origin,
    trustedProxies: config.SERVICE_TRUSTED_PROXIES,
    areWebhooksInternal: config.SERVICE_WEBHOOK_NETWORKS.length > 0,
    // A generated secret is lost with the process, so second factors may use such a secret only if
    // the users are lost too. Undefined turns second factors off.
    secrets:
      config.SERVICE_CLUSTER_SECRET !== undefined || stores.kind === 'local'
        ? own.clusterSecrets
        : undefined,
    ...own,
  };
  const listen = { host, port: config.SERVICE_CONSOLE_PORT };
  const stored = { users, sessions, members, accounts };
  const ports = {
    ...stored,
    ...{ engine, limiter, accountNews },
    trail,
    keys: admin,
    usage: admin,
    clock,
    randomness,
    logger,
    metrics,
  };
  return await composeConsole(listen, consoleConfig, ports);
}

/** Listen addresses for all interfaces, which no client can call. */
const EVERY_INTERFACE = ['0.0.0.0', '[::]'];

/**
 * Addresses of the API for the pages: as configured, or `listener` if the pages are only for this
 * machine. Visitors of a public console cannot reach the listener under its own address.
 */
function apiAddressesOf(config: Config, listener: string | undefined): ConsoleConfig['api'] {
  const { SERVICE_API_URL: configured, SERVICE_CONSOLE_ORIGIN: origin } = config;
  const isLocal = origin === undefined || isLoopbackHost(new URL(origin).hostname);
  const url = configured ?? (isLocal ? localUrlOf(listener) : undefined);
  if (url === undefined) return undefined;
  const docsUrl = config.SERVICE_DOCS_ENABLED ? url.replace(/v1$/, 'docs') : undefined;
  return { url, docsUrl };
}

function localUrlOf(listener: string | undefined): string | undefined {
  if (listener === undefined) return undefined;
  const { hostname, port } = new URL(listener);
  return `http://${EVERY_INTERFACE.includes(hostname) ? '127.0.0.1' : hostname}:${port}/v1`;
}
