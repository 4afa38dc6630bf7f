import { once } from 'node:events';
import type { AccountNews } from '#accounts/account';
import { isAccountId } from '#accounts/api-key';
import type { Bus } from '#bus/bus';
import { agreedFacts, type ClusterFacts } from '#cluster/cluster-facts';
import { Membership, strangerReports } from '#cluster/membership';
import { answerRollCalls, type CalledRole } from '#cluster/roll-call';
import { ShardOwners, shardsOf } from '#cluster/shard-owners';
import type { Config } from '#config';
import { LIMITER_TIMEOUT_MS } from '#grpc/call-bounds';
import { engineProtocol } from '#grpc/engine-codec';
import type { EngineAnswer, EngineCall } from '#grpc/engine-messages';
import { FrameClient } from '#grpc/frame-client';
import { durationsOf } from '#grpc/frame-protocol';
import type { CallObserver } from '#grpc/frame-server';
import type { OnRefused } from '#grpc/grpc-server';
import { limiterProtocol } from '#grpc/limiter-codec';
import type { LimiterAnswer, LimiterCall } from '#grpc/limiter-messages';
import type { Peer } from '#routing/peer';
import { RETRY_REASONS, type RetryReason } from '#routing/retry-policy';
import { RoutedEngine, RoutedLimiter, type RoutedServiceOptions } from '#routing/routed-service';
import type { Foundation } from '#startup/process/dependencies';
import type { Waits } from '#startup/process/lifetime';
import { nodeNameOf } from '#startup/process/node-name';
import type { Clock } from '#stdlib/clock';
import { releaseOf } from '#stdlib/release';
import type { ShardedService } from '#storage/ports/cluster';
import { LogRateLimit } from '#telemetry/log-limits';
import type { Logger } from '#telemetry/logger';
import type { Metrics } from '#telemetry/metrics';

/**
 * Facts about the cluster from the heartbeats of a service, for a process that only routes calls.
 * Rejects and logs as `patiently` does.
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
    return `a heartbeat of ${service === 'engine' ? 'an engine' : 'a limiter'} on ${where}`;
  });
}

/**
 * Client of all engines of a cluster, for a process that is no engine. `connect` opens a connection
 * to one engine.
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

/** Client of a cluster's limiters. `connect` opens a connection to a limiter. */
export function watchedLimiters(
  config: Config,
  foundation: Foundation,
  bus: Bus,
  facts: ClusterFacts,
  connect: (address: string) => Peer<LimiterCall, LimiterAnswer>,
): RoutedLimiter {
  // A higher configured timeout is for slow limiters on a busy machine, not for missing limiters.
  const timeoutMs = Math.min(LIMITER_TIMEOUT_MS, config.SERVICE_LIMITER_TIMEOUT_MS);
  const options = watched('limiter', config, foundation, bus, facts, connect);
  return new RoutedLimiter({ ...options, timeoutMs });
}

/** Clients of a cluster's engines and limiters, and the change feed of its accounts. */
type WatchedBackends = AsyncDisposable & {
  readonly engine: RoutedEngine;
  readonly limiter: RoutedLimiter;
  readonly accountNews: AccountNews;
  /** Answers roll calls, so that `ctl nodes` lists this process, until disposed. */
  readonly list: (role: CalledRole) => Disposable;
};

/** Opens the clients for a process that is no node: an edge or a console. */
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

/** Routing options for a process that is no node. */
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
    shardOf: shardsOf(shardCount),
    connect,
    clock: foundation.clock,
    random: Math.random,
    onRetry: retryCounter(foundation),
  };
}

/** Routing table of a service, from heartbeats and announcements. */
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

/** Returns a function that connects to the engine at an address. */
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

/** Returns a function that connects to the limiter at an address. */
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

/** Returns a function that counts retries by reason. */
export function retryCounter({ metrics }: Foundation): (reason: RetryReason) => void {
  const retries = metrics.counter('edge_retries_total');
  // Zero from the first scrape on, because Prometheus cannot see the first increment otherwise.
  for (const reason of RETRY_REASONS) retries.labels({ reason }).inc(0);
  return (reason) => retries.labels({ reason }).inc();
}

/** Options of `busAccountNews`. */
type BusAccountNewsOptions = {
  readonly bus: Bus;
  /** Prefix of all bus subjects. */
  readonly prefix: string;
  /** Cluster id. Separates clusters that share a NATS server. */
  readonly cluster: string;
};

/** Bus subject for account changes. */
export function accountSubject(prefix: string): string {
  return `${prefix}.accounts`;
}

/**
 * Account changes over a bus. A message is text, readable with `nats sub`: the cluster id, a space
 * and the account id, and for a change of one member another space and the user id. Release 1.0 ignores
 * such a message. Silently ignores all other messages on the subject.
 */
export function busAccountNews({ bus, prefix, cluster }: BusAccountNewsOptions): AccountNews {
  const subject = accountSubject(prefix);
  const mark = Buffer.from(`${cluster} `);

  function idsIn(message: Uint8Array): readonly string[] {
    if (!mark.equals(message.subarray(0, mark.length))) return [];
    // Latin-1 maps every byte to one character, so decoding cannot fail.
    return Buffer.from(message.subarray(mark.length)).toString('latin1').split(' ');
  }

  return {
    get isHeard() {
      return bus.isConnected;
    },
    announce(accountId, memberId) {
      const ids = memberId === undefined ? accountId : `${accountId} ${memberId}`;
      bus.publish(subject, Buffer.concat([mark, Buffer.from(ids)]));
    },
    onChange: (listener) =>
      bus.subscribe(subject, (message) => {
        const [accountId = '', memberId] = idsIn(message);
        if (isAccountId(accountId)) listener(accountId, memberId);
      }),
  };
}

/** Delay before a missing dependency is logged, in milliseconds. A normal start takes less. */
const PATIENCE_MS = 2_000;

/** Dependencies of a wait. */
type Waiting = {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly waits: Waits;
  readonly logger: Logger;
};

/**
 * Waits for `pending`. Rejects when `signal` aborts. During the wait, the readiness probe shows
 * `missing`. After 2 s, the log shows `missing` too.
 */
async function patiently<Value>(
  pending: Promise<Value>,
  { clock, signal, waits, logger }: Waiting,
  missing: () => string,
): Promise<Value> {
  using _ = clock.after(PATIENCE_MS, () => {
    logger.info({ missing: missing() }, 'waiting for a dependency before this process can serve');
  });
  const given = signal.aborted ? Promise.resolve() : once(signal, 'abort');
  const first = await waits.during(missing, Promise.race([pending, given]));
  signal.throwIfAborted();
  return first as Value;
}

/** A peer process that this process needs before it can serve. */
export type NeededPeer = {
  readonly name: string;
  /** `host:port`. */
  readonly address: string;
  readonly connection: { ready(): Promise<void> };
};

/**
 * Fulfils when all peers are connected, because processes may start in any order. Rejects and logs
 * as `patiently` does.
 */
export async function connected(peers: readonly NeededPeer[], waiting: Waiting): Promise<void> {
  const missing = new Set(peers);
  const all = peers.map(async (peer) => {
    await peer.connection.ready();
    missing.delete(peer);
  });
  await patiently(Promise.all(all), waiting, () =>
    [...missing].map(({ name, address }) => `the ${name} at ${address}`).join(' and '),
  );
}

/** Observer of calls to a service, with label values bound on first use. */
function clientObserver(metrics: Metrics, service: string) {
  return durationsOf(metrics, 'rpc_client_call_duration_seconds', service);
}

/** Observer of received calls. Each frame calls `received` with its number of messages. */
export function serverObserver(
  metrics: Metrics,
  service: string,
  received?: (messages: number) => void,
): CallObserver {
  return { ended: durationsOf(metrics, 'rpc_server_call_duration_seconds', service), received };
}

/** Counts refused calls, and logs each method and role at most once in 30 s. */
export function refusalObserver({
  metrics,
  logger,
  clock,
}: Pick<Foundation, 'metrics' | 'logger' | 'clock'>): OnRefused {
  const refusals = metrics.counter('rpc_server_refused_total');
  const lines = new Map<string, LogRateLimit>();
  return (path, roles) => {
    const role = roles.join('+') || 'none';
    refusals.labels({ rpc_method: path, role }).inc();
    const kind = `${path} ${role}`;
    const line = lines.get(kind) ?? new LogRateLimit(clock);
    lines.set(kind, line);
    line.run(() =>
      logger.warn(
        { method: path, callerRole: role },
        'refused a call that the role of the caller does not permit',
      ),
    );
  };
}
