import type { AuditTrail } from '#audit/trail';
import { type Config, ConfigError } from '#config';
import type { AccountAdmin } from '#limiter/admin/accounts';
import type { AdminAudit } from '#limiter/admin/route';
import type { ClusterOverview } from '#limiter/admin/routes';
import { serveAdmin } from '#limiter/admin/server';
import { newAdminToken, publishAdminToken, readAdminToken } from '#limiter/admin/token';
import { createLogger } from '#platform/logger';
import { ProcessControl } from '#platform/process-control';
import type { Running } from '#platform/run';
import { type Foundation, shownConfiguration } from '#process/foundation';
import { logOrigin } from '#process/node-name';

/** What the port answers besides requests about the process. */
type Accounts =
  | Pick<
      Extract<Parameters<typeof serveAdmin>[1], { admin: object }>,
      'admin' | 'trail' | 'heard' | 'cluster'
    >
  | { readonly admin?: undefined };

/** The accounts, and what keeps who changed them. */
export type Administration = { readonly admin: AccountAdmin; readonly audit: AuditTrail };

/**
 * Opens the admin port with the token that the configuration names, or with one of its own that it
 * publishes for `ctl`. Every change leaves a line in the log. Rejects when no token can be had.
 */
export async function openAdminPort(
  config: Config,
  foundation: Foundation,
  { admin, audit: trail }: Administration,
  cluster: ClusterOverview,
): Promise<Running> {
  const heard = logOf(config, foundation);
  return await openPort(config, foundation, config.SERVICE_ADMIN_PORT, {
    ...{ admin, trail, heard, cluster },
  });
}

/**
 * Opens the admin port of a process without accounts, where `SERVICE_CONTROL_PORT` is set: it answers
 * requests about the process alone. Undefined: not set.
 */
export async function openProcessPort(
  config: Config,
  foundation: Foundation,
): Promise<Running | undefined> {
  const { SERVICE_CONTROL_PORT: port } = config;
  if (port === undefined) return undefined;
  return await openPort(config, foundation, port, {});
}

async function openPort(
  config: Config,
  foundation: Foundation,
  port: number,
  accounts: Accounts,
): Promise<Running> {
  await using opening = new AsyncDisposableStack();
  const given = await givenToken(config);
  const token = given ?? newAdminToken();
  const listen = { host: '127.0.0.1', port: port };
  const { clock, onBug, logger, service } = foundation;
  const origin = logOrigin(config, service);
  const configuration = shownConfiguration(config);
  const control = new ProcessControl({ logger, clock, origin, configuration });
  const running = opening.use(
    await serveAdmin(listen, { ...accounts, token, control, clock, onBug }),
  );
  if (given === undefined) {
    const { port: taken } = new URL(running.address);
    opening.use(await publishAdminToken(Number(taken), token));
  }
  const opened = opening.move();
  return { address: running.address, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

async function givenToken({ SERVICE_ADMIN_TOKEN_FILE: path }: Config): Promise<string | undefined> {
  if (path === undefined) return undefined;
  return await readAdminToken(path).catch((error: Error) => {
    throw new ConfigError(`SERVICE_ADMIN_TOKEN_FILE: ${error.message}`);
  });
}

/** Writes at any level but `silent`: who changed what is no detail that one may not want to know. */
function logOf(config: Config, { service }: Foundation): AdminAudit {
  const isSilent = config.SERVICE_LOG_LEVEL === 'silent';
  const logger = createLogger(isSilent ? 'silent' : 'info', logOrigin(config, service));
  return (change, by) => logger.info({ ...change, by }, 'account administration');
}
