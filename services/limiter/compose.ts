import type { AccountNews } from '#accounts/account-news';
import type { AuditTrail } from '#audit/audit-trail';
import type { BillingDesk } from '#billing/billing-desk';
import { type AccountAdmin, accountAdmin } from '#limiter/account-admin';
import { AccountCalls } from '#limiter/account-calls';
import { KeyUses } from '#limiter/key-uses';
import { LimiterActors, type LimiterConfig } from '#limiter/limiter-actors';
import type { Metrics } from '#platform/metrics';
import type { ProcessPorts } from '#platform/process-ports';
import type { Randomness } from '#platform/randomness';
import { CommitLog } from '#runtime/commit-log';
import { ONE_SHARD } from '#runtime/shard-gate';
import type { AccountStore } from '#storage/account-store';
import type { DirtyFlag } from '#storage/dirty-flag';
import type { Journal } from '#storage/journal';
import type { KeyUseStore } from '#storage/key-use-store';
import type { MeterStore, MonthStore } from '#storage/meter-store';
import type { LimiterClient } from '#wire/limiter-messages';

/** What a limiter needs of its process, wherever it keeps its data. */
export type LimiterPorts = ProcessPorts & {
  readonly accounts: AccountStore;
  readonly meters: MeterStore & MonthStore;
  readonly audit: AuditTrail;
  readonly keyUses: KeyUseStore;
  /** Of data that has no other process; undefined: nothing is granted without a record. */
  readonly dirtyFlag?: DirtyFlag | undefined;
  /** Where plans are bought; undefined: nowhere. */
  readonly billingDesk?: BillingDesk | undefined;
  /** News of accounts for the other processes; undefined: there is none. */
  readonly accountNews: AccountNews | undefined;
  readonly randomness: Randomness;
  readonly metrics: Metrics;
};

/** A limiter: its checks, and the administration of the accounts it checks. */
export type Limiter = AsyncDisposable & {
  readonly client: LimiterClient;
  readonly admin: AccountAdmin;
  readonly audit: AuditTrail;
  /** What is in memory here. */
  readonly load: () => LimiterActors['load'];
};

/** A limiter that is the only one: on memory, where a crash leaves nothing to take over. */
export function composeLimiter(
  config: LimiterConfig,
  ports: LimiterPorts & { readonly journal: Journal },
): Limiter {
  const { accounts, meters, keyUses, accountNews, clock, randomness } = ports;
  const { metrics, onBug, tracer } = ports;
  const opened = new AsyncDisposableStack();
  const noted = opened.use(new KeyUses(keyUses, clock));
  const actors = new LimiterActors(config, {
    accounts,
    meters,
    accountCalls: new AccountCalls(ports.audit, ports.billingDesk),
    keyUses: noted,
    clock,
    metrics,
    log: new CommitLog(ports.journal, clock),
    gate: ONE_SHARD,
    onBug,
    tracer,
  });
  opened.use(actors);
  return {
    client: actors,
    audit: ports.audit,
    load: () => actors.load,
    admin: accountAdmin({
      accounts,
      keyUses,
      months: meters,
      clock,
      randomness,
      announce: async (accountId) => {
        accountNews?.announce(accountId);
        await actors.accountChanged(accountId);
      },
      usage: (accountId) => actors.usage(accountId),
      resetUsage: (accountId) => actors.resetUsage(accountId),
    }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
