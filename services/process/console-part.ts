import { detailsOf } from '#audit/audit-entry';
import type { AuditTrail } from '#audit/audit-trail';
import { type Config, ConfigError } from '#config';
import type { Audit } from '#console/audit-port';
import { composeConsole } from '#console/compose';
import type { ConsoleConfig, ConsolePorts } from '#console/console-ports';
import { makeSetUpLink } from '#console/entry-links';
import { isLoopbackHost } from '#platform/loopback';
import { type Reloadable, unchanging } from '#platform/reloadable';
import type { Administration } from '#process/admin-port';
import { clusterAccounts } from '#process/cluster-accounts';
import { type Foundation, openFoundation, serveOperators } from '#process/foundation';
import { LOCAL_ACCOUNT_ID } from '#process/local-account';
import { type LocalStores, openStores, type SharedStores } from '#process/ports';
import { type Opened, say } from '#process/process-life';
import { clusterSecretsOf } from '#process/secret-files';

/** Characters of a secret that is not configured: 190 bits. */
const SECRET_LENGTH = 32;

/** A console, and what a person begins with. */
type ConsoleBeside = AsyncDisposable & {
  readonly origin: string;
  /** The console's address, or a new set-up link of the local account while that has no member. */
  readonly firstAddress: () => Promise<string>;
};

/** What a console stands in front of: the accounts, and what answers for them. */
type Behind = Administration & Pick<ConsolePorts, 'limiter'>;

/** A console process: for the accounts that a cluster has in Cassandra. */
export async function openConsole(config: Config): Promise<Opened> {
  await using opening = new AsyncDisposableStack();
  const foundation = opening.use(await openFoundation(config, 'console'));
  const operators = opening.use(await serveOperators(config, foundation));
  if (config.SERVICE_CLUSTER_SECRET === undefined) {
    throw new ConfigError('SERVICE_CLUSTER_SECRET: a console needs it, the same as the cluster');
  }
  const stores = opening.use(await openStores(config, foundation));
  if (stores.kind === 'local') {
    throw new ConfigError(
      'SERVICE_STORAGE: a console of its own needs the cassandra of its cluster',
    );
  }
  const accounts = opening.use(await clusterAccounts(config, foundation, stores));
  const running = opening.use(await consoleOn(config, foundation, stores, accounts, undefined));
  opening.use(operators.ready());
  say('console', { console: running.origin, metrics: `${operators.address}/metrics` });
  return opening.move();
}

/** The console of a standalone process, on the same stores. */
export async function consoleBeside(
  config: Config,
  foundation: Foundation,
  stores: LocalStores | SharedStores,
  behind: Behind,
): Promise<ConsoleBeside> {
  const running = await consoleOn(config, foundation, stores, behind, LOCAL_ACCOUNT_ID);
  const { origin } = running;
  const { clock, randomness } = foundation;
  const ports = { members: stores.members, clock, randomness };
  return {
    origin,
    firstAddress: async () => {
      const { members } = await stores.members.find(LOCAL_ACCOUNT_ID);
      if (members.length > 0) return origin;
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
  { admin, audit: trail, limiter }: Behind,
  localAccountId: string | undefined,
) {
  const { SERVICE_CONSOLE_HOST: host, SERVICE_CONSOLE_ORIGIN: origin } = config;
  if (origin === undefined && !isLoopbackHost(host.includes(':') ? `[${host}]` : host)) {
    const text = `${host} is reached from elsewhere: SERVICE_CONSOLE_ORIGIN must say at which address`;
    throw new ConfigError(`SERVICE_CONSOLE_HOST: ${text}`);
  }
  const { users, sessions, members, accounts } = stores;
  const { clock, randomness, logger, metrics } = foundation;
  const consoleConfig: ConsoleConfig = {
    origin,
    trustedProxies: config.SERVICE_TRUSTED_PROXIES,
    secrets: secretsOf(config, foundation, stores),
    localAccountId,
  };
  const listen = { host, port: config.SERVICE_CONSOLE_PORT };
  const stored = { users, sessions, members, accounts };
  const ports = {
    ...stored,
    audit: auditOf(trail),
    trail,
    keys: admin,
    usage: admin,
    limiter,
    clock,
    randomness,
    logger,
    metrics,
  };
  return await composeConsole(listen, consoleConfig, ports);
}

/** Without a secret second factors live as long as the process, where users do not live longer. */
function secretsOf(
  config: Config,
  foundation: Foundation,
  { kind }: LocalStores | SharedStores,
): Reloadable<readonly string[]> | undefined {
  if (config.SERVICE_CLUSTER_SECRET !== undefined) return clusterSecretsOf(config, foundation);
  const { randomness } = foundation;
  return kind === 'local' ? unchanging([randomness.base62(SECRET_LENGTH)]) : undefined;
}

/** What is done in the console is in the audit trail of its account, before it happens. */
function auditOf(trail: AuditTrail): Audit {
  return async ({ accountId, before, after, ...line }) => {
    // Nothing is begun by a sign-in that failed.
    const outcome = line.action === 'session.fail' ? 'unauthorized' : 'begun';
    const shown = {
      ...(before !== undefined && { before: detailsOf(before) }),
      ...(after !== undefined && { after: detailsOf(after) }),
    };
    await trail.append(accountId, { ...line, ...shown, outcome });
  };
}
