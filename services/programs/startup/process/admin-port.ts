import type { AuditTrail } from '#audit/trail';
import { type Config, ConfigError } from '#config';
import type { AccountAdmin } from '#limiter/admin/accounts';
import type { AdminAudit } from '#limiter/admin/route';
import type { ClusterOverview } from '#limiter/admin/routes';
import { serveAdmin } from '#limiter/admin/server';
import { newAdminToken, publishAdminToken, readAdminToken } from '#limiter/admin/token';
import { type Foundation, shownConfiguration } from '#startup/process/dependencies';
import { logOrigin } from '#startup/process/node-name';
import type { Running } from '#stdlib/run';
import { createLogger } from '#telemetry/logger';
import { ProcessControl } from '#telemetry/process-control';

/** Account administration on the port. Absent on a port that only controls the process. */
type Accounts =
  | Pick<
      Extract<Parameters<typeof serveAdmin>[1], { admin: object }>,
      'admin' | 'trail' | 'heard' | 'cluster'
    >
  | { readonly admin?: undefined };

/** Account administration, and the audit trail of its changes. */
export type Administration = { readonly admin: AccountAdmin; readonly audit: AuditTrail };

/**
 * Opens the admin port with the configured token, or publishes a new token for `ctl`. Logs every
 * change. Rejects if no token is available.
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
 * Opens the control port of a process without accounts if `SERVICE_CONTROL_PORT` is set. The port
 * answers only requests about the process. Returns undefined if the variable is not set.
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

/**
 * Logs account changes at every log level except `silent`, because the log is an audit record.
 */
function logOf(config: Config, { service }: Foundation): AdminAudit {
  const isSilent = config.SERVICE_LOG_LEVEL === 'silent';
  const logger = createLogger(isSilent ? 'silent' : 'info', logOrigin(config, service));
  return (change, by) => logger.info({ ...change, by }, 'account administration');
}
