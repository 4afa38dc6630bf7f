import type { AccountNews } from '#accounts/account-news';
import type { Bus } from '#bus/bus';
import { agreedFacts, type ClusterFacts } from '#cluster/cluster-facts';
import { Membership } from '#cluster/membership';
import { strangerReports } from '#cluster/membership-options';
import { answerRollCalls, type CalledRole } from '#cluster/roll-call';
import { shardOf } from '#cluster/shard-of';
import { ShardOwners } from '#cluster/shard-owners';
import type { Config } from '#config';
import { releaseOf } from '#platform/release';
import { busAccountNews } from '#process/bus-account-news';
import type { Foundation } from '#process/foundation';
import { nodeNameOf } from '#process/node-name';
import { patiently } from '#process/peers';
import { clientObserver } from '#process/rpc-metrics';
import type { Peer } from '#routing/peer';
import { RoutedEngine } from '#routing/routed-engine';
import { RoutedLimiter } from '#routing/routed-limiter';
import type { RoutedServiceOptions } from '#routing/routed-service';
import { RETRY_REASONS, type RetryReason } from '#routing/routing-policy';
import type { ShardedService } from '#storage/shard-store';
import { engineProtocol } from '#wire/engine-codec';
import type { EngineAnswer, EngineCall } from '#wire/engine-messages';
import { FrameClient } from '#wire/frame-client';
import { limiterProtocol } from '#wire/limiter-codec';
import type { LimiterAnswer, LimiterCall } from '#wire/limiter-messages';
import { LIMITER_TIMEOUT_MS } from '#wire/wire-bounds';

/**
 * What the nodes of a service say of their cluster: a process that only routes calls has no other
 * way to know. Rejects and reports as `patiently`.
 */
export async function heardFacts(
  service: ShardedService,
  config: Config,
  { clock, logger, waits }: Foundation,
  bus: Bus,
  signal: AbortSignal,
): Promise<ClusterFacts> {
  const prefix = config.SERVICE_NATS_PREFIX;
  using agreed = agreedFacts({ bus, clock, prefix, service, logger });
  return await patiently(agreed.facts, { clock, signal, waits, logger }, () => {
    const where = config.SERVICE_NATS_URL?.join(',') ?? 'this process';
    return `${service === 'engine' ? 'an engine' : 'a limiter'} to be heard on ${where}`;
  });
}

/**
 * All engines of a cluster as one, for a process that is none of them: it watches who owns what.
 * `connect` opens the way to one of them.
 */
export function watchedEngines(
  config: Config,
  foundation: Foundation,
  bus: Bus,
  facts: ClusterFacts,
  connect: (address: string) => Peer<EngineCall, EngineAnswer>,
): RoutedEngine {
  return new RoutedEngine(watched('engine', config, foundation, bus, facts, connect));
}

/** All limiters of a cluster as one. */
export function watchedLimiters(
  config: Config,
  foundation: Foundation,
  bus: Bus,
  facts: ClusterFacts,
  connect: (address: string) => Peer<LimiterCall, LimiterAnswer>,
): RoutedLimiter {
  // A limiter that is there may be slow on a busy machine; for one that is not no caller waits
  // longer.
  const timeoutMs = Math.min(LIMITER_TIMEOUT_MS, config.SERVICE_LIMITER_TIMEOUT_MS);
  const options = watched('limiter', config, foundation, bus, facts, connect);
  return new RoutedLimiter({ ...options, timeoutMs });
}

/** All engines and all limiters of a cluster, each as one, and the news of its accounts. */
type WatchedBackends = AsyncDisposable & {
  readonly engine: RoutedEngine;
  readonly limiter: RoutedLimiter;
  readonly accountNews: AccountNews;
  /** Lets `ctl nodes` find this process, until disposed. */
  readonly list: (role: CalledRole) => Disposable;
};

/** The same for a process that is no node of either: an edge, a console. */
export function watchedBackends(
  config: Config,
  foundation: Foundation,
  bus: Bus,
  { engines, limiters }: { readonly engines: ClusterFacts; readonly limiters: ClusterFacts },
): WatchedBackends {
  const opened = new AsyncDisposableStack();
  const connectEngine = engineConnector(foundation);
  const engine = opened.use(watchedEngines(config, foundation, bus, engines, connectEngine));
  const connectLimiter = limiterConnector(config, foundation);
  const limiter = opened.use(watchedLimiters(config, foundation, bus, limiters, connectLimiter));
  const { cluster } = engines;
  const { SERVICE_NATS_PREFIX: prefix } = config;
  const { clock } = foundation;
  const self = { node: nodeNameOf(config), release: releaseOf() };
  return {
    ...{ engine, limiter },
    accountNews: busAccountNews({ bus, prefix, cluster }),
    list: (role) => {
      const startedAtMs = Math.round(clock.wallMs());
      return answerRollCalls({ bus, clock, prefix, cluster }, { ...self, role, startedAtMs });
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** What routing to a service needs in a process that only hears of it. */
function watched<Call, Answer>(
  service: ShardedService,
  config: Config,
  foundation: Foundation,
  bus: Bus,
  facts: ClusterFacts,
  connect: (address: string) => Peer<Call, Answer>,
): RoutedServiceOptions<Call, Answer> {
  const { shardCount } = facts;
  foundation.metrics.gauge('cluster_shards').labels({ service }).set(shardCount);
  return {
    routes: watchedOwners(service, config, foundation, bus, facts),
    shardCount,
    shardOf: (id) => shardOf(id, shardCount),
    connect,
    clock: foundation.clock,
    random: Math.random,
    onRetry: retryCounter(foundation),
  };
}

/** Who owns the shards of a service, as far as this process hears. */
function watchedOwners(
  service: ShardedService,
  config: Config,
  foundation: Foundation,
  bus: Bus,
  { cluster, shardCount }: ClusterFacts,
): ShardOwners {
  const { clock, logger } = foundation;
  const members = new Membership({
    bus,
    clock,
    cluster,
    prefix: config.SERVICE_NATS_PREFIX,
    service,
    self: undefined,
    ...strangerReports(logger),
  });
  return new ShardOwners({ members, shardCount, clock });
}

/** Connects to engines at their addresses. */
export function engineConnector({
  metrics,
  tls,
  tracer,
  dependencies,
}: Foundation): (address: string) => Peer<EngineCall, EngineAnswer> {
  const observeCall = clientObserver(metrics, 'engine');
  const shown = tls();
  return (address) => {
    const dependency = dependencies.watch('engine', address);
    const options = { address, observeCall, tls: shown, tracer, dependency };
    return new FrameClient(engineProtocol, options);
  };
}

/** Connects to limiters at their addresses. */
export function limiterConnector(
  config: Config,
  { metrics, tls, tracer, dependencies }: Foundation,
): (address: string) => Peer<LimiterCall, LimiterAnswer> {
  const observeCall = clientObserver(metrics, 'limiter');
  const shown = tls();
  const timeoutMs = config.SERVICE_LIMITER_TIMEOUT_MS;
  return (address) => {
    const dependency = dependencies.watch('limiter', address);
    const options = { address, timeoutMs, observeCall, tls: shown, tracer, dependency };
    return new FrameClient(limiterProtocol, options);
  };
}

/** Counts further tries, by what made them necessary. */
export function retryCounter({ metrics }: Foundation): (reason: RetryReason) => void {
  const retries = metrics.counter('edge_retries_total');
  // Shown from the first scrape on, or Prometheus could not see the first of each.
  for (const reason of RETRY_REASONS) retries.labels({ reason }).inc(0);
  return (reason) => retries.labels({ reason }).inc();
}
