import type { AuditTrail } from '#audit/trail';
import type { EdgePorts } from '#edge/app';
import type { AccountAdmin, KeyAdmin } from '#limiter/admin/accounts';
import type { Clock } from '#stdlib/clock';
import type { Reloadable } from '#stdlib/files';
import type { Randomness } from '#stdlib/randomness';
import type { AccountStore } from '#storage/ports/accounts';
import type { MemberStore, SessionStore, UserStore } from '#storage/ports/people';
import type { Logger } from '#telemetry/logger';
import type { Metrics } from '#telemetry/metrics';

/** Ports for the instance routes. The limiter also serves billing. */
type InstancePorts = Pick<EdgePorts, 'engine' | 'limiter' | 'accountNews'>;

/** Ports of the console. */
export type ConsolePorts = InstancePorts & {
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly members: MemberStore;
  readonly accounts: Pick<AccountStore, 'find'>;
  readonly trail: Pick<AuditTrail, 'append' | 'around' | 'page' | 'heads' | 'linesAfter'>;
  readonly keys: KeyAdmin;
  /** Rejects with `service_unavailable` if no limiter answers. */
  readonly usage: Pick<AccountAdmin, 'usage' | 'months'>;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly logger: Logger;
  readonly metrics: Metrics;
};

/** Addresses of the API that the pages show. */
export type ApiAddresses = {
  /** Base URL, ending in `/v1`. */
  readonly url: string;
  /** Page with the API documentation. Undefined if the edges serve no documentation. */
  readonly docsUrl: string | undefined;
};

/** Console configuration. */
export type ConsoleConfig = {
  /**
   * Public origin, for example `https://console.example.com`. If undefined, the console serves its
   * loopback addresses over HTTP.
   */
  readonly origin: string | undefined;
  /** CIDRs of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[];
  /**
   * Encryption secrets for second factors. The first secret encrypts; a second secret stays valid
   * during a rotation (decision 134). If undefined, second factors are disabled: without a
   * permanent secret, nobody could decrypt the stored data later.
   */
  readonly secrets: Reloadable<readonly string[]> | undefined;
  /**
   * Cluster secrets, the same as on every edge. Two kinds of ids are derived from a secret: ids of
   * calls with an idempotency key, and ids of objects that these calls create (decision 134).
   */
  readonly clusterSecrets: Reloadable<readonly string[]>;
  /** Addresses of the API, for the pages. Absent if the console does not know the API's address. */
  readonly api?: ApiAddresses | undefined;
  /** Whether customers may send webhooks to internal networks, as on every edge. */
  readonly areWebhooksInternal?: boolean;
  /** Account of a local run, used by `GET /api/setup`. Undefined outside a local run. */
  readonly localAccountId: string | undefined;
};
