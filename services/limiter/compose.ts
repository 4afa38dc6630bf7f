import type { AccountNews } from '#accounts/account-news';
import { type AccountAdmin, accountAdmin } from '#limiter/account-admin';
import { LimiterActors, type LimiterConfig } from '#limiter/limiter-actors';
import type { Clock } from '#platform/clock';
import type { Metrics } from '#platform/metrics';
import type { Randomness } from '#platform/randomness';
import { CommitLog } from '#runtime/commit-log';
import { ONE_SHARD } from '#runtime/shard-gate';
import type { AccountStore } from '#storage/account-store';
import type { Journal } from '#storage/journal';
import type { MeterStore } from '#storage/meter-store';
import type { LimiterClient } from '#wire/limiter-messages';

/** What a limiter needs of its process, wherever it keeps its data. */
export type LimiterPorts = {
  readonly accounts: AccountStore;
  readonly meters: MeterStore;
  /** Who else knows the accounts; undefined: nobody. */
  readonly accountNews: AccountNews | undefined;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly metrics: Metrics;
  /** Called with what is no Fault: our own bugs, for the process's log. */
  readonly onBug: (error: unknown) => void;
};

/** A limiter: its checks, and the administration of the accounts it checks. */
export type Limiter = AsyncDisposable & {
  readonly client: LimiterClient;
  readonly admin: AccountAdmin;
};

/** A limiter that shares its meters with nobody: on memory, where a crash leaves nothing to take over. */
export function composeLimiter(
  config: LimiterConfig,
  ports: LimiterPorts & { readonly journal: Journal },
): Limiter {
  const log = new CommitLog(ports.journal, ports.clock);
  const actors = new LimiterActors(config, { ...ports, log, gate: ONE_SHARD });
  const announce = async (accountId: string) => {
    ports.accountNews?.announce(accountId);
    await actors.accountChanged(accountId);
  };
  return {
    client: actors,
    admin: accountAdmin({
      ...ports,
      announce,
      usage: (id) => actors.usage(id),
      resetUsage: (id) => actors.resetUsage(id),
    }),
    [Symbol.asyncDispose]: () => actors[Symbol.asyncDispose](),
  };
}
