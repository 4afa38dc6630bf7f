import { strict as assert } from 'node:assert';
import { type Config, ConfigError, secretOfText } from '#config';
import { derivedFrom, type Reloadable, unchanging } from '#platform/reloadable';
import { secretText } from '#platform/secret-file';
import { SECRET_LINES_MAX, type SecretVariable } from '#platform/secret-variables';
import type { CredentialFiles, CredentialUse } from '#process/credential-files';
import { assertProduction, type Role } from '#process/production';

/** The secrets that are read again; the exporter of traces takes its headers at its start. */
type WatchedSecret = Exclude<SecretVariable, 'SERVICE_OTLP_HEADERS'>;

/** What each secret is for, as metrics name it. */
const USES = {
  SERVICE_CASSANDRA_PASSWORD: 'cassandra_password',
  SERVICE_NATS_PASSWORD: 'nats_password',
  SERVICE_CLUSTER_SECRET: 'cluster_secret',
  SERVICE_BILLING_API_KEY: 'billing_api_key',
  SERVICE_BILLING_WEBHOOK_SECRET: 'billing_webhook_secret',
} as const satisfies Record<WatchedSecret, CredentialUse>;

/** What reading secrets takes from outside. */
type Reading = { readonly credentials: CredentialFiles; readonly service: string };

/** User and password of a server. */
type UserAndPassword = { readonly username: string; readonly password: string };

/** Throws `ConfigError` without a cluster secret: a process that others reach over NATS needs one. */
export function assertClusterSecret({ SERVICE_CLUSTER_SECRET: secrets }: Config): void {
  if (secrets !== undefined) return;
  throw new ConfigError(
    'SERVICE_CLUSTER_SECRET: an edge of its own, and every process on NATS, needs it, the same in every process',
  );
}

/** The secrets of the cluster, the one that signs and names first. Throws `ConfigError` without one. */
export function clusterSecretsOf(config: Config, reading: Reading): Reloadable<readonly string[]> {
  assertClusterSecret(config);
  const secrets = secretOf(config, 'SERVICE_CLUSTER_SECRET', reading);
  assert(secrets !== undefined, 'a secret that is given is read');
  return secrets;
}

/** User and password of a server. Throws `ConfigError` for one without the other. */
export function credentialsOf(
  config: Config,
  server: 'SERVICE_CASSANDRA' | 'SERVICE_NATS',
  reading: Reading,
): Reloadable<UserAndPassword> | undefined {
  const username = config[`${server}_USERNAME`];
  const password = secretOf(config, `${server}_PASSWORD`, reading);
  if (username !== undefined && password !== undefined) {
    return derivedFrom(password, (current) => ({ username, password: current }));
  }
  if (username === undefined && password === undefined) return undefined;
  throw new ConfigError(`${server}_USERNAME and ${server}_PASSWORD go together`);
}

/**
 * A secret as its file says now and after each change, or as its variable says for good; undefined:
 * neither is given. Throws `ConfigError` for a file of no use.
 */
export function secretOf<Variable extends WatchedSecret>(
  config: Config,
  variable: Variable,
  { credentials, service }: Reading,
): Reloadable<NonNullable<Config[Variable]>> | undefined {
  const given = config[variable];
  if (given === undefined) return undefined;
  const path = config[`${variable}_FILE`];
  if (path === undefined) return unchanging(given);
  const linesMax = SECRET_LINES_MAX[variable];
  return credentials.watch(USES[variable], [path], (contents) => {
    try {
      const text = secretText(path, contents.get(path) ?? 'is not read', linesMax);
      const value = secretOfText(variable, text);
      // What a start refuses, a change must not bring in.
      assertProduction({ ...config, [variable]: value }, service as Role);
      return value;
    } catch (error) {
      const { message } = error as Error;
      const named = message.startsWith(path) ? message : `${path}: ${message}`;
      throw new ConfigError(`${variable}_FILE: ${named}`);
    }
  });
}
