import type { X509Certificate } from 'node:crypto';
import { earliestEndS } from '#platform/certificates';
import type { Clock } from '#platform/clock';
import type { Logger } from '#platform/logger';
import type { Metrics } from '#platform/metrics';
import type { Reloadable } from '#platform/reloadable';
import { type FileContents, WatchedFiles } from '#platform/watched-file';

/** What certificates are for. */
type TlsUse = 'wire' | 'cassandra' | 'nats';

/** What the files are for that a process reads again while it runs, as metrics name it. */
export type CredentialUse =
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
