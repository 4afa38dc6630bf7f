import { inProcessBus } from '#bus/in-process-bus';
import type { ConsolePorts } from '#console/app/ports';
import { composeEngine } from '#engine/engine-node';
import type { CourierClient } from '#grpc/courier-messages';
import type { AccountAdmin } from '#limiter/admin/accounts';
import { composeLimiter } from '#limiter/limiter-node';
import { busAccountNews } from '#startup/cluster';
import type { Clock } from '#stdlib/clock';
import { systemRandomness } from '#stdlib/randomness';
import { memoryKeyUseStore } from '#storage/memory/accounts';
import { memoryFeedStore } from '#storage/memory/feeds';
import { memoryInstanceStore, memoryListingStore } from '#storage/memory/instances';
import { memoryJournal, memoryMeterStore } from '#storage/memory/meters';
import type { AccountStore } from '#storage/ports/accounts';
import { createMetrics } from '#telemetry/metrics';
import { billingOf } from '#test/console/billing-fixture';
import { memoryTrail } from '#test/support/memory-trail';

const ACTORS = { idleAgeMs: 120_000, memoryBytesMax: 64 * 1_024 * 1_024 };

type ServiceBehind = AsyncDisposable & {
  readonly ports: Pick<
    ConsolePorts,
    'engine' | 'limiter' | 'accountNews' | 'keys' | 'usage' | 'trail'
  >;
  readonly admin: AccountAdmin;
};

/**
 * Services behind a console: a limiter and an engine in memory, for the accounts in a store.
 * `courier` sends the messages to webhook endpoints. Undefined: nothing is sent.
 */
export function serviceBehind(
  clock: Clock,
  accounts: AccountStore,
  courier?: CourierClient,
): ServiceBehind {
  const opened = new AsyncDisposableStack();
  const trail = memoryTrail(clock);
  const onBug = (error: unknown) => {
    throw error;
  };
  const ports = { clock, randomness: systemRandomness, metrics: createMetrics(), onBug };
  const bus = inProcessBus({ clock, onBug });
  const accountNews = busAccountNews({ bus, prefix: 'console', cluster: 'alone' });
  const limiter = opened.use(
    composeLimiter(ACTORS, {
      ...{ ...ports, accounts, accountNews, audit: trail },
      ...{ meters: memoryMeterStore(), keyUses: memoryKeyUseStore(), journal: memoryJournal() },
      billingDesk: billingOf({ accounts, clock, trail, provider: undefined }).desk,
    }),
  );
  const stores = {
    instances: memoryInstanceStore(),
    listings: memoryListingStore(),
    feeds: memoryFeedStore(),
  };
  const engine = opened.use(
    composeEngine(ACTORS, { ...ports, ...stores, courier, trail, journal: memoryJournal() }),
  );
  return {
    admin: limiter.admin,
    ports: {
      ...{ engine, accountNews, trail, limiter: limiter.client },
      ...{ keys: limiter.admin, usage: limiter.admin },
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
