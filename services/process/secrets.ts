import { strict as assert } from 'node:assert';
import type { X509Certificate } from 'node:crypto';
import { type Config, ConfigError, secretOfText } from '#config';
import { earliestEndS } from '#platform/certificates';
import type { Clock } from '#platform/clock';
import {
  derivedFrom,
  type FileContents,
  type Reloadable,
  secretText,
  unchanging,
  WatchedFiles,
} from '#platform/files';
import type { Logger } from '#platform/logger';
import type { Metrics } from '#platform/metrics';
import { SECRET_LINES_MAX, type SecretVariable } from '#platform/variables';
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

/** What certificates are for. */
type TlsUse = 'wire' | 'cassandra' | 'nats';

/** What the files are for that a process reads again while it runs, as metrics name it. */
type CredentialUse =
  | TlsUse
  | 'cluster_secret'
  | 'cassandra_password'
  | 'nats_password'
  | 'billing_api_key'
  | 'billing_webhook_secret';

/** Ports of the process that files of credentials use. */
type CredentialPorts = {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
};

const KEPT = ': what was read before stays in use';
const REFUSED = 'changed files are of no use: what was read before stays in use';

/**
 * The files with certificates and secrets that a process watches: each use once, so that all its
 * parts have the same. A change is logged, one that is of no use as a warning and counted as well.
 */
export class CredentialFiles implements Disposable {
  readonly #ports: CredentialPorts;
  readonly #watched = new Map<CredentialUse, Pick<WatchedFiles<unknown>, 'refusal'> & Disposable>();

  constructor(ports: CredentialPorts) {
    this.#ports = ports;
  }

  /** What `parse` makes of the files, now and after each change. Throws what it throws now. */
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
    // Shown from the first scrape on, or Prometheus could not see the first failure.
    failures.inc(0);
    loaded.set(clock.wallMs() / 1_000);
    files.onChange(() => {
      loaded.set(clock.wallMs() / 1_000);
      logger.info({ use, files: paths }, 'changed files are in use from now on');
    });
    return files;
  }

  /** Shows when the first of these certificates expires; nothing for none. */
  showEnd(use: TlsUse | `${TlsUse}_authority`, certificates: readonly X509Certificate[]): void {
    const end = this.#ports.metrics.gauge('tls_certificate_expiry_timestamp_seconds');
    if (certificates.length === 0) end.remove({ use });
    else end.labels({ use }).set(earliestEndS(certificates));
  }

  /** Which files hold what is of no use now, one line each. */
  get refusals(): readonly string[] {
    const refusals = [...this.#watched.values()].map(({ refusal }) => refusal);
    return refusals.filter((refusal) => refusal !== undefined).map((line) => `${line}${KEPT}`);
  }

  [Symbol.dispose](): void {
    for (const files of this.#watched.values()) files[Symbol.dispose]();
    this.#watched.clear();
  }
}
