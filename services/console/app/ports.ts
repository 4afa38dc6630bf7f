import type { AuditTrail } from '#audit/trail';
import type { EdgePorts } from '#edge/app';
import type { AccountAdmin, KeyAdmin } from '#limiter/admin/accounts';
import type { Clock } from '#platform/clock';
import type { Reloadable } from '#platform/files';
import type { Logger } from '#platform/logger';
import type { Metrics } from '#platform/metrics';
import type { Randomness } from '#platform/randomness';
import type { AccountStore } from '#storage/ports/accounts';
import type { MemberStore, SessionStore, UserStore } from '#storage/ports/people';

/** What members reach their instances through; the limiter also answers for billing. */
type InstancePorts = Pick<EdgePorts, 'engine' | 'limiter' | 'accountNews'>;

/** What the console stands on. */
export type ConsolePorts = InstancePorts & {
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly members: MemberStore;
  readonly accounts: Pick<AccountStore, 'find'>;
  readonly trail: Pick<AuditTrail, 'append' | 'around' | 'page' | 'heads' | 'linesAfter'>;
  readonly keys: KeyAdmin;
  /** Rejects with `service_unavailable` where no limiter answers. */
  readonly usage: Pick<AccountAdmin, 'usage' | 'months'>;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly logger: Logger;
  readonly metrics: Metrics;
};

/** What an operator decides about the console. */
export type ConsoleConfig = {
  /** `https://console.example.com`; undefined: the loopback addresses of its own port, over HTTP. */
  readonly origin: string | undefined;
  /** CIDRs whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[];
  /**
   * What second factors are encrypted under, the first of two while it is changed (decision 134).
   * Undefined: there are no second factors, because what is stored would outlive its key.
   */
  readonly secrets: Reloadable<readonly string[]> | undefined;
  /** The same secrets as every edge has, which name keyed calls and what they create (decision 134). */
  readonly clusterSecrets: Reloadable<readonly string[]>;
  /** The account of a local run, which `GET /api/setup` looks at; undefined: none. */
  readonly localAccountId: string | undefined;
};
