import { composeEdge } from '#edge/app';
import { composeEngine } from '#engine/engine-node';
import { serveAdmin } from '#limiter/admin/server';
import { composeLimiter } from '#limiter/limiter-node';
import { unchanging } from '#stdlib/files';
import { systemRandomness } from '#stdlib/randomness';
import { memoryAccountStore, memoryKeyUseStore } from '#storage/memory/accounts';
import { memoryFeedStore } from '#storage/memory/feeds';
import { memoryInstanceStore, memoryListingStore } from '#storage/memory/instances';
import { memoryJournal, memoryMeterStore } from '#storage/memory/meters';
import { createLogger } from '#telemetry/logger';
import { createMetrics } from '#telemetry/metrics';
import { ADMIN_TOKEN } from '#test/support/calls/admin-token';
import { ManualClock } from '#test/support/manual-clock';
import { memoryTrail } from '#test/support/memory-trail';
import { NO_OVERVIEW } from '#test/support/no-overview';
import type { Service } from '#test/support/servers/service';
import { TEST_ORIGIN } from '#test/support/test-logger';

/** Settings of the actors. An idle instance is evicted after two minutes. */
const ACTORS = { idleAgeMs: 120_000, memoryBytesMax: 64 * 1_024 * 1_024 };

/** A service on a fake clock. */
export type ClockedService = {
  readonly service: Service;
  readonly clock: ManualClock;
};

/**
 * Starts the standalone composition in the test's process on a fake clock, behind real HTTP, for
 * tests over minutes, days or a month.
 */
export async function startClocked(nowMs: number, drainMs = 0): Promise<ClockedService> {
  await using opening = new AsyncDisposableStack();
  const clock = new ManualClock(nowMs);
  const ports = {
    clock,
    randomness: systemRandomness,
    metrics: createMetrics(),
    logger: createLogger('silent', TEST_ORIGIN),
    onBug: (error: unknown) => {
      throw error;
    },
  };
  const accounts = memoryAccountStore(clock);
  const limiter = opening.use(
    composeLimiter(ACTORS, {
      ...ports,
      accounts,
      meters: memoryMeterStore(),
      audit: memoryTrail(clock),
      keyUses: memoryKeyUseStore(),
      accountNews: undefined,
      journal: memoryJournal(),
    }),
  );
  const stores = {
    instances: memoryInstanceStore(),
    listings: memoryListingStore(),
    feeds: memoryFeedStore(),
  };
  const engine = opening.use(
    await composeEngine(ACTORS, { ...ports, ...stores, journal: memoryJournal() }),
  );
  const listen = { host: '127.0.0.1', port: 0 };
  const asking = { token: ADMIN_TOKEN, trail: limiter.audit, heard: () => undefined };
  const cluster = NO_OVERVIEW;
  const admin = opening.use(
    await serveAdmin(listen, { ...ports, ...asking, admin: limiter.admin, cluster }),
  );
  const config = {
    ...listen,
    isDocumented: false,
    clusterSecrets: unchanging(['a test']),
    trustedProxies: [],
    drainMs,
  };
  const edge = opening.use(
    await composeEdge(config, { ...ports, engine, limiter: limiter.client }),
  );
  const opened = opening.move();
  const service: Service = {
    origin: edge.address,
    api: `${edge.address}/v1`,
    metricsUrl: '',
    adminUrl: admin.address,
    processes: new Map(),
    log: () => '',
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
  return { service, clock };
}
