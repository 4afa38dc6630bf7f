import type { AccountNews } from '#accounts/account';
import type { Bus } from '#bus/bus';
import type { CalledRole } from '#cluster/roll-call';
import type { Config } from '#config';
import { composeEdge, type EdgeConfig } from '#edge/app';
import type { EngineClient } from '#grpc/engine-messages';
import type { LimiterClient } from '#grpc/limiter-messages';
import {
  connected,
  engineConnector,
  heardFacts,
  limiterConnector,
  type NeededPeer,
  watchedBackends,
} from '#startup/cluster';
import { openBus } from '#startup/ports';
import { openProcessPort } from '#startup/process/admin-port';
import { type Foundation, openFoundation, serveOperators } from '#startup/process/dependencies';
import { type Opened, say } from '#startup/process/lifetime';
import { assertClusterSecret, clusterSecretsOf } from '#startup/process/secrets';
import { unchanging } from '#stdlib/files';
import { systemRandomness } from '#stdlib/randomness';

/** Length for generated cluster secrets, in characters: 190 bits. */
const SECRET_LENGTH = 32;

/**
 * Opens an edge process: the REST API for the limiters and engines of a cluster, or for one limiter
 * and one engine at fixed addresses.
 */
export async function openEdge(config: Config, signal: AbortSignal): Promise<Opened> {
  await using opening = new AsyncDisposableStack();
  const foundation = opening.use(await openFoundation(config, 'edge', signal));
  const operators = opening.use(await serveOperators(config, foundation));
  // Instances outlive this process. A keyed create that is retried after a restart must find the
  // same instance, so the secret must be stable.
  assertClusterSecret(config);
  const backends = opening.use(
    config.SERVICE_NATS_URL === undefined
      ? atFixedAddresses(config, foundation)
      : await ofCluster(config, foundation, config.SERVICE_NATS_URL, signal),
  );
  const { clock, randomness, metrics, logger, tracer, waits } = foundation;
  await connected(backends.peers, { clock, signal, waits, logger });
  // The edge listens last, so that a load balancer sends callers only to a serving port.
  const { engine, limiter, accountNews } = backends;
  const ports = { engine, limiter, clock, randomness, metrics, logger, accountNews, tracer };
  const edge = opening.use(await composeEdge(edgeConfigOf(config, foundation), ports));
  const port = await openProcessPort(config, foundation);
  if (port !== undefined) opening.use(port);
  opening.use(operators.ready());
  if (backends.list !== undefined) opening.use(backends.list('edge'));
  say(foundation, { api: `${edge.address}/v1`, metrics: `${operators.address}/metrics` });
  return opening.move();
}

/**
 * Configuration of the edge. Without a configured secret, generates a secret for this process only.
 * A generated secret suffices if the instances are lost with the process.
 */
export function edgeConfigOf(config: Config, foundation: Foundation): EdgeConfig {
  const hasSecret = config.SERVICE_CLUSTER_SECRET !== undefined;
  return {
    host: config.SERVICE_HOST,
    port: config.SERVICE_PORT,
    isDocumented: config.SERVICE_DOCS_ENABLED,
    clusterSecrets: hasSecret
      ? clusterSecretsOf(config, foundation)
      : unchanging([systemRandomness.base62(SECRET_LENGTH)]),
    trustedProxies: config.SERVICE_TRUSTED_PROXIES,
    drainMs: config.SERVICE_DRAIN_SECONDS * 1_000,
    areWebhooksInternal: config.SERVICE_WEBHOOK_NETWORKS.length > 0,
  };
}

/** Backends of an edge. */
type Backends = AsyncDisposable & {
  readonly engine: EngineClient;
  readonly limiter: LimiterClient;
  /** Announcements of account changes. Undefined without a bus. */
  readonly accountNews: AccountNews | undefined;
  readonly list: ((role: CalledRole) => Disposable) | undefined;
  /** Peers without which the edge cannot serve. */
  readonly peers: readonly NeededPeer[];
};

function atFixedAddresses(config: Config, foundation: Foundation): Backends {
  const { SERVICE_ENGINE_ADDRESS, SERVICE_LIMITER_ADDRESS } = config;
  const opened = new AsyncDisposableStack();
  // Without a bus, no connection can break.
  foundation.metrics.gauge('bus_connected').set(1);
  const engine = opened.use(engineConnector(foundation)(SERVICE_ENGINE_ADDRESS));
  const limiter = opened.use(limiterConnector(config, foundation)(SERVICE_LIMITER_ADDRESS));
  return {
    engine: { ask: (call) => engine.ask(call) },
    limiter: { ask: (call) => limiter.ask(call) },
    ...{ accountNews: undefined, list: undefined },
    peers: [
      { name: 'engine', address: SERVICE_ENGINE_ADDRESS, connection: engine },
      { name: 'limiter', address: SERVICE_LIMITER_ADDRESS, connection: limiter },
    ],
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function ofCluster(
  config: Config,
  foundation: Foundation,
  natsUrls: readonly string[],
  signal: AbortSignal,
): Promise<Backends> {
  await using opening = new AsyncDisposableStack();
  const bus: Bus = opening.use(await openBus(config, foundation, { asks: ['engine', 'limiter'] }));
  const [engines, limiters] = await Promise.all([
    heardFacts('engine', config, foundation, bus, signal),
    heardFacts('limiter', config, foundation, bus, signal),
  ]);
  const facts = { engines, limiters };
  const backends = opening.use(watchedBackends(config, foundation, bus, facts));
  const { engine, limiter, accountNews, list } = backends;
  const address = natsUrls.join(',');
  const opened = opening.move();
  return {
    ...{ engine, limiter, accountNews, list },
    peers: [
      { name: 'owner of every shard', address, connection: engine },
      { name: 'limiter of every account', address, connection: limiter },
    ],
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
