import type { AuditTrail } from '#audit/audit-trail';
import type { EdgePorts } from '#edge/app';
import type { AccountAdmin, KeyAdmin } from '#limiter/account-admin';
import type { Clock } from '#platform/clock';
import type { Logger } from '#platform/logger';
import type { Metrics } from '#platform/metrics';
import type { Randomness } from '#platform/randomness';
import type { Reloadable } from '#platform/reloadable';
import type { AccountStore } from '#storage/account-store';
import type { MemberStore } from '#storage/member-store';
import type { SessionStore } from '#storage/session-store';
import type { UserStore } from '#storage/user-store';

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
