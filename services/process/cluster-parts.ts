import { type Config, ConfigError } from '#config';
import { composeEdge } from '#edge/compose';
import { composeEngine } from '#engine/compose';
import { serveAdmin } from '#limiter/admin-server';
import { composeLimiter } from '#limiter/compose';
import { edgeConfigOf } from '#process/edge-config';
import { foundationOf, serveOperators } from '#process/foundation';
import { connected } from '#process/peers';
import { openStores } from '#process/ports';
import type { Opened } from '#process/process-life';
import { clientObserver, serverObserver } from '#process/rpc-metrics';
import { connectEngine } from '#wire/engine-connection';
import { engineServer } from '#wire/engine-server';
import { serveGrpc } from '#wire/grpc-server';
import { connectLimiter } from '#wire/limiter-connection';
import { limiterServer } from '#wire/limiter-server';

/** An engine process: instances and directories behind gRPC. */
export async function openEngine(config: Config): Promise<Opened> {
  await using opening = new AsyncDisposableStack();
  const foundation = foundationOf(config, 'engine');
  const operators = opening.use(await serveOperators(config, foundation));
  const { instances, listings, openJournal } = await openStores(config);
  const ports = { ...foundation, instances, listings, journal: openJournal() };
  const engine = opening.use(await composeEngine(foundation.actors, ports));
  const observer = serverObserver(foundation.metrics, 'engine');
  const services = [engineServer(engine, { reportBug: foundation.onBug, observer })];
  const server = opening.use(await serveGrpc({ listen: config.SERVICE_ENGINE_LISTEN, services }));
  opening.use(operators.ready());
  say('engine', { grpc: server.address, metrics: `${operators.address}/metrics` });
  return opening.move();
}

/** A limiter process: meters behind gRPC, and the admin port of its accounts. */
export async function openLimiter(config: Config): Promise<Opened> {
  await using opening = new AsyncDisposableStack();
  const foundation = foundationOf(config, 'limiter');
  const operators = opening.use(await serveOperators(config, foundation));
  const { accounts, openJournal } = await openStores(config);
  const ports = { ...foundation, accounts, journal: openJournal() };
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

/** An edge process: the REST API in front of one engine and one limiter at fixed addresses. */
export async function openEdge(config: Config, signal: AbortSignal): Promise<Opened> {
  await using opening = new AsyncDisposableStack();
  const foundation = foundationOf(config, 'edge');
  const operators = opening.use(await serveOperators(config, foundation));
  if (config.SERVICE_CLUSTER_SECRET === undefined) {
    // Instances outlive this process: a keyed create that is retried after its end must find its own.
    const text = 'SERVICE_CLUSTER_SECRET: an edge of its own needs it, the same on every edge';
    throw new ConfigError(text);
  }
  const engineAddress = config.SERVICE_ENGINE_ADDRESS;
  const limiterAddress = config.SERVICE_LIMITER_ADDRESS;
  const observe = (service: string) => clientObserver(foundation.metrics, service);
  const engine = opening.use(
    connectEngine({ address: engineAddress, observeCall: observe('engine') }),
  );
  const limiter = opening.use(
    connectLimiter({
      address: limiterAddress,
      timeoutMs: config.SERVICE_LIMITER_TIMEOUT_MS,
      observeCall: observe('limiter'),
    }),
  );
  const edge = opening.use(
    await composeEdge(edgeConfigOf(config), { ...foundation, engine, limiter }),
  );
  const peers = [
    { name: 'engine', address: engineAddress, connection: engine },
    { name: 'limiter', address: limiterAddress, connection: limiter },
  ];
  await connected(peers, { clock: foundation.clock, signal });
  opening.use(operators.ready());
  say('edge', { api: `${edge.address}/v1`, metrics: `${operators.address}/metrics` });
  return opening.move();
}

function say(service: string, addresses: Record<string, string>): void {
  const list = Object.entries(addresses).map(([name, address]) => `${name} ${address}`);
  process.stdout.write(`${service} is ready: ${list.join(', ')}\n`);
}
