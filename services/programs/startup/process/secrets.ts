import { strict as assert } from 'node:assert';
import type { X509Certificate } from 'node:crypto';
import { type Config, ConfigError, secretOfText } from '#config';
import { assertProduction, type Role } from '#startup/production';
import { earliestEndS } from '#stdlib/certificates';
import type { Clock } from '#stdlib/clock';
import {
  derivedFrom,
  type FileContents,
  type Reloadable,
  secretText,
  unchanging,
  WatchedFiles,
} from '#stdlib/files';
import { SECRET_LINES_MAX, type SecretVariable } from '#stdlib/variables';
import type { Logger } from '#telemetry/logger';
import type { Metrics } from '#telemetry/metrics';

/** Secrets that a process reloads. The trace exporter reads its headers only at start. */
type WatchedSecret = Exclude<SecretVariable, 'SERVICE_OTLP_HEADERS'>;

/** Label of each secret in metrics. */
const USES = {
  SERVICE_CASSANDRA_PASSWORD: 'cassandra_password',
  SERVICE_NATS_PASSWORD: 'nats_password',
  SERVICE_CLUSTER_SECRET: 'cluster_secret',
  SERVICE_BILLING_API_KEY: 'billing_api_key',
  SERVICE_BILLING_WEBHOOK_SECRET: 'billing_webhook_secret',
} as const satisfies Record<WatchedSecret, CredentialUse>;

/** Dependencies of reading secrets. */
type Reading = { readonly credentials: CredentialFiles; readonly service: string };

/** Credentials for a server. */
type UserAndPassword = { readonly username: string; readonly password: string };

/** Throws `ConfigError` without a cluster secret, which every process reached over NATS needs. */
export function assertClusterSecret({ SERVICE_CLUSTER_SECRET: secrets }: Config): void {
  if (secrets !== undefined) return;
  throw new ConfigError(
    'SERVICE_CLUSTER_SECRET: a separate edge and every process on NATS need the same secret',
  );
}

/**
 * Cluster secrets. The first secret signs and derives ids. Throws `ConfigError` without a secret.
 */
export function clusterSecretsOf(config: Config, reading: Reading): Reloadable<readonly string[]> {
  assertClusterSecret(config);
  const secrets = secretOf(config, 'SERVICE_CLUSTER_SECRET', reading);
  assert(secrets !== undefined, 'a secret that is given is read');
  return secrets;
}

/** Credentials for a server. Throws `ConfigError` if only one of user and password is set. */
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
  throw new ConfigError(`set both ${server}_USERNAME and ${server}_PASSWORD, or neither`);
}

/**
 * Reloadable secret from its file, or the constant value of its variable. Undefined if neither the
 * file nor the value is configured. Throws `ConfigError` for an unusable file.
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
      // A reload must pass the same checks as a start.
      assertProduction({ ...config, [variable]: value }, service as Role);
      return value;
    } catch (error) {
      const { message } = error as Error;
      const named = message.startsWith(path) ? message : `${path}: ${message}`;
      throw new ConfigError(`${variable}_FILE: ${named}`);
    }
  });
}

/** Purpose of certificates. */
type TlsUse = 'wire' | 'cassandra' | 'nats';

/** Purpose of files that a process reloads while it runs, as a label in metrics. */
type CredentialUse =
  | TlsUse
  | 'cluster_secret'
  | 'cassandra_password'
  | 'nats_password'
  | 'billing_api_key'
  | 'billing_webhook_secret';

/** Dependencies of credential files. */
type CredentialPorts = {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
};

const KEPT = ': the previous content stays in use';
const REFUSED = 'changed files cannot be used: the previous content stays in use';

/**
 * Watched files with certificates and secrets. All parts of the process share one watch per use, so
 * that they have the same value. Logs reloads; counts and logs refused reloads.
 */
export class CredentialFiles implements Disposable {
  readonly #ports: CredentialPorts;
  readonly #watched = new Map<CredentialUse, Pick<WatchedFiles<unknown>, 'refusal'> & Disposable>();

  constructor(ports: CredentialPorts) {
    this.#ports = ports;
  }

  /**
   * Watches the files of a use. The returned value is always the result of the newest successful
   * `parse`. Rethrows errors of the first `parse`.
   */
  watch<Value>(
    use: CredentialUse,
    paths: readonly string[],
    parse: (contents: FileContents) => Value,
  ): Reloadable<Value> {
    const known = this.#watched.get(use);
    if (known !== undefined) return known as WatchedFiles<Value>;
    const { clock, logger, metrics } = this.#ports;
    const failures = metrics.counter('credential_reload_failures_total').labels({ use });
    const loaded = metrics.gauge('credential_loaded_timestamp_seconds').labels({ use });
    const onRefused = ({ message }: Error, isNews: boolean): void => {
      failures.inc();
      if (isNews) logger.warn({ use, why: message }, REFUSED);
    };
    const files = new WatchedFiles({ paths, parse, clock, onRefused });
    this.#watched.set(use, files);
    // Zero from the first scrape on, because Prometheus cannot see the first failure otherwise.
    failures.inc(0);
    loaded.set(clock.wallMs() / 1_000);
    files.onChange(() => {
      loaded.set(clock.wallMs() / 1_000);
      logger.info({ use, files: paths }, 'changed files are now in use');
    });
    return files;
  }

  /** Exports the earliest expiry of certificates. Removes the metric if there are none. */
  showEnd(use: TlsUse | `${TlsUse}_authority`, certificates: readonly X509Certificate[]): void {
    const end = this.#ports.metrics.gauge('tls_certificate_expiry_timestamp_seconds');
    if (certificates.length === 0) end.remove({ use });
    else end.labels({ use }).set(earliestEndS(certificates));
  }

  /** Files whose current content is refused, one line each. */
  get refusals(): readonly string[] {
    const refusals = [...this.#watched.values()].map(({ refusal }) => refusal);
    return refusals.filter((refusal) => refusal !== undefined).map((line) => `${line}${KEPT}`);
  }

  [Symbol.dispose](): void {
    for (const files of this.#watched.values()) files[Symbol.dispose]();
    this.#watched.clear();
  }
}
