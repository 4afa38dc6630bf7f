import type { AuditTrail } from '#audit/audit-trail';
import { type Config, ConfigError } from '#config';
import type { AccountAdmin } from '#limiter/account-admin';
import type { AdminAudit } from '#limiter/admin-audit';
import { serveAdmin } from '#limiter/admin-server';
import { newAdminToken, publishAdminToken, readAdminToken } from '#limiter/admin-token';
import type { ClusterOverview } from '#limiter/cluster-routes';
import { createLogger } from '#platform/logger';
import type { Running } from '#platform/run';
import type { Foundation } from '#process/foundation';
import { logOrigin } from '#process/node-name';

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
  await using opening = new AsyncDisposableStack();
  const given = await givenToken(config);
  const token = given ?? newAdminToken();
  const listen = { host: '127.0.0.1', port: config.SERVICE_ADMIN_PORT };
  const heard = logOf(config, foundation);
  const { clock, onBug } = foundation;
  const running = opening.use(
    await serveAdmin(listen, { admin, token, trail, heard, cluster, clock, onBug }),
  );
  if (given === undefined) {
    const { port } = new URL(running.address);
    opening.use(await publishAdminToken(Number(port), token));
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
