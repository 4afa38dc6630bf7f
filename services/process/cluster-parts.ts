import { type Config, ConfigError } from '#config';
import { composeEdge } from '#edge/compose';
import { composeEngine } from '#engine/compose';
import { serveAdmin } from '#limiter/admin-server';
import { composeLimiter } from '#limiter/compose';
import { engineConnector, heardFacts, watchedEngines } from '#process/cluster';
import { edgeConfigOf } from '#process/edge-config';
import { joinCluster } from '#process/engine-service';
import { type Foundation, foundationOf, serveOperators } from '#process/foundation';
import { LateEngine } from '#process/late-engine';
import { connected, type Peer } from '#process/peers';
import { openBus, openStores } from '#process/ports';
import type { Opened } from '#process/process-life';
import { clientObserver, serverObserver } from '#process/rpc-metrics';
import type { EngineClient } from '#wire/engine-messages';
import { engineServer } from '#wire/engine-server';
import { serveGrpc } from '#wire/grpc-server';
import { connectLimiter } from '#wire/limiter-connection';
import { limiterServer } from '#wire/limiter-server';

/** An engine process: instances and directories behind gRPC, alone on memory or one of a cluster. */
export async function openEngine(config: Config): Promise<Opened> {
  await using opening = new AsyncDisposableStack();
  const foundation = foundationOf(config, 'engine');
  const operators = opening.use(await serveOperators(config, foundation));
  const stores = opening.use(await openStores(config, foundation));
  if (stores.kind === 'shared' && config.SERVICE_NATS_URL === undefined) {
    throw new ConfigError('SERVICE_NATS_URL: engines on Cassandra find each other through it');
  }
  const isEverywhere = /^(0\.0\.0\.0|\[::\]):/.test(config.SERVICE_ENGINE_LISTEN);
  if (stores.kind === 'shared' && isEverywhere && config.SERVICE_ENGINE_ADVERTISE === undefined) {
    const text =
      'needed when SERVICE_ENGINE_LISTEN is every address, which is nobody’s in particular';
    throw new ConfigError(`SERVICE_ENGINE_ADVERTISE: ${text}`);
  }
  const bus = opening.use(await openBus(config, foundation));
  const engine = new LateEngine();
  const observer = serverObserver(foundation.metrics, 'engine');
  const identity = () => engine.identity;
  const { onBug: reportBug } = foundation;
  const services = [engineServer(engine, { reportBug, observer, identity, tools: engine })];
  const server = opening.use(await serveGrpc({ listen: config.SERVICE_ENGINE_LISTEN, services }));
  const { address = server.address } = { address: config.SERVICE_ENGINE_ADVERTISE };
  if (stores.kind === 'local') {
    const ports = { ...foundation, ...stores, journal: stores.engineJournal };
    engine.begin(opening.use(composeEngine(foundation.actors, ports)));
  } else {
    const node = opening.use(await joinCluster(config, foundation, stores, bus, address));
    engine.beginNode(node);
  }
  opening.use(operators.ready());
  say('engine', { grpc: server.address, metrics: `${operators.address}/metrics` });
  return opening.move();
}

/** A limiter process: meters behind gRPC, and the admin port of its accounts. */
export async function openLimiter(config: Config): Promise<Opened> {
  await using opening = new AsyncDisposableStack();
  const foundation = foundationOf(config, 'limiter');
  const operators = opening.use(await serveOperators(config, foundation));
  const { accounts, meterJournal } = opening.use(await openStores(config, foundation));
  const ports = { ...foundation, accounts, journal: meterJournal };
  const limiter = opening.use(composeLimiter(foundation.actors, ports));
  const listen = { host: '127.0.0.1', port: config.SERVICE_ADMIN_PORT };
  const admin = opening.use(await serveAdmin(listen, { ...foundation, admin: limiter.admin }));
  const frames = foundation.metrics.histogram('limiter_frame_messages');
  const observer = serverObserver(foundation.metrics, 'limiter', (count) => frames.observe(count));
  const services = [limiterServer(limiter.client, { reportBug: foundation.onBug, observer })];
  const server = opening.use(await serveGrpc({ listen: config.SERVICE_LIMITER_LISTEN, services }));
  const metrics = `${operators.address}/metrics`;
  opening.use(operators.ready());
  say('limiter', { grpc: server.address, admin: admin.address, metrics });
  return opening.move();
}

/**
 * An edge process: the REST API in front of a limiter at a fixed address, and of the engines of a
 * cluster or one at a fixed address.
 */
export async function openEdge(config: Config, signal: AbortSignal): Promise<Opened> {
  await using opening = new AsyncDisposableStack();
  const foundation = foundationOf(config, 'edge');
  const operators = opening.use(await serveOperators(config, foundation));
  if (config.SERVICE_CLUSTER_SECRET === undefined) {
    // Instances outlive this process: a keyed create that is retried after its end must find its own.
    const text = 'SERVICE_CLUSTER_SECRET: an edge of its own needs it, the same on every edge';
    throw new ConfigError(text);
  }
  const limiterAddress = config.SERVICE_LIMITER_ADDRESS;
  const engine = opening.use(await openEngines(config, foundation, signal));
  const limiter = opening.use(
    connectLimiter({
      address: limiterAddress,
      timeoutMs: config.SERVICE_LIMITER_TIMEOUT_MS,
      observeCall: clientObserver(foundation.metrics, 'limiter'),
    }),
  );
  const peers = [
    ...engine.peers,
    { name: 'limiter', address: limiterAddress, connection: limiter },
  ];
  await connected(peers, { clock: foundation.clock, signal });
  // It listens last: whoever balances load sends nobody to a port that refuses.
  const edge = opening.use(
    await composeEdge(edgeConfigOf(config), { ...foundation, engine, limiter }),
  );
  opening.use(operators.ready());
  say('edge', { api: `${edge.address}/v1`, metrics: `${operators.address}/metrics` });
  return opening.move();
}

type Engines = EngineClient & AsyncDisposable & { readonly peers: readonly Peer[] };

/** The engines of the cluster that NATS names, or the one at a fixed address. */
async function openEngines(
  config: Config,
  foundation: Foundation,
  signal: AbortSignal,
): Promise<Engines> {
  const connect = engineConnector(foundation);
  if (config.SERVICE_NATS_URL === undefined) {
    const address = config.SERVICE_ENGINE_ADDRESS;
    const connection = connect(address);
    const peers = [{ name: 'engine', address, connection }];
    return {
      peers,
      ask: (call) => connection.ask(call),
      [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
    };
  }
  await using opening = new AsyncDisposableStack();
  const bus = opening.use(await openBus(config, foundation));
  const facts = await heardFacts(config, foundation, bus, signal);
  const engines = opening.use(watchedEngines(config, foundation, bus, facts, connect));
  const address = config.SERVICE_NATS_URL.join(',');
  const opened = opening.move();
  return {
    peers: [{ name: 'owner of every shard', address, connection: engines }],
    ask: (call) => engines.ask(call),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

function say(service: string, addresses: Record<string, string>): void {
  const list = Object.entries(addresses).map(([name, address]) => `${name} ${address}`);
  process.stdout.write(`${service} is ready: ${list.join(', ')}\n`);
}
