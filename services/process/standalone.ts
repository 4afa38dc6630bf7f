import { LOCAL_PLAN } from '#accounts/plan';
import type { Config } from '#config';
import { composeEdge } from '#edge/compose';
import { composeEngine } from '#engine/compose';
import type { EngineNode } from '#engine/engine-node';
import type { AccountAdmin } from '#limiter/account-admin';
import { serveAdmin } from '#limiter/admin-server';
import { composeLimiter } from '#limiter/compose';
import { watchedEngines } from '#process/cluster';
import { edgeConfigOf } from '#process/edge-config';
import { joinCluster } from '#process/engine-service';
import { type Foundation, foundationOf, serveOperators } from '#process/foundation';
import { openBus, openStores, type Stores } from '#process/ports';
import type { Opened } from '#process/process-life';
import { welcome } from '#process/welcome';
import { inProcessPeer } from '#routing/engine-peer';
import type { EngineClient } from '#wire/engine-messages';

/** Everything in one process with direct calls: the local deployment of spec 1.7. */
export async function openStandalone(config: Config): Promise<Opened> {
  await using opening = new AsyncDisposableStack();
  const foundation = foundationOf(config, 'standalone');
  const operators = opening.use(await serveOperators(config, foundation));
  const stores = opening.use(await openStores(config, foundation));
  const { accounts, meterJournal } = stores;
  const limiterPorts = { ...foundation, accounts, journal: meterJournal };
  const limiter = opening.use(composeLimiter(foundation.actors, limiterPorts));
  const engine = opening.use(await openEngine(config, foundation, stores, operators.address));
  const adminListen = { host: '127.0.0.1', port: config.SERVICE_ADMIN_PORT };
  const admin = opening.use(await serveAdmin(adminListen, { ...foundation, admin: limiter.admin }));
  const edgePorts = { ...foundation, engine, limiter: limiter.client };
  // Alone it has nobody to send its callers to.
  const edgeConfig = { ...edgeConfigOf(config), drainMs: 0 };
  const edge = opening.use(await composeEdge(edgeConfig, edgePorts));
  opening.use(operators.ready());
  const key = config.SERVICE_LOCAL_ACCOUNT ? await localKey(limiter.admin) : undefined;
  process.stdout.write(
    welcome({
      api: edge.address,
      key,
      metrics: operators.address,
      admin: admin.address,
      isDocumented: config.SERVICE_DOCS_ENABLED,
      isLasting: stores.kind === 'shared',
    }),
  );
  return opening.move();
}

/** The engine of this process: on memory alone, on Cassandra a cluster of one. */
async function openEngine(
  config: Config,
  foundation: Foundation,
  stores: Stores,
  operatorsAddress: string,
): Promise<EngineClient & AsyncDisposable> {
  if (stores.kind === 'local') {
    const ports = { ...foundation, ...stores, journal: stores.engineJournal };
    return composeEngine(foundation.actors, ports);
  }
  await using opening = new AsyncDisposableStack();
  const alone = { ...config, SERVICE_NATS_URL: undefined };
  const bus = opening.use(await openBus(alone, foundation));
  // It has no gRPC port; the operators' port is as much its own as any.
  const { host: address } = new URL(operatorsAddress);
  const { clock } = foundation;
  const node: EngineNode = await joinCluster(alone, foundation, stores, bus, address);
  const facts = { cluster: node.cluster, shardCount: config.SERVICE_SHARDS };
  const own = () => inProcessPeer(node, clock);
  const engines = opening.use(watchedEngines(alone, foundation, bus, facts, own));
  opening.use(node);
  const opened = opening.move();
  return {
    ask: (call) => engines.ask(call),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** The key of a fresh account for whoever runs the service locally (decision 32). */
async function localKey(admin: AccountAdmin): Promise<string> {
  const account = await admin.createAccount({ name: 'local', choice: LOCAL_PLAN });
  const { key } = await admin.createKey(account.id, { scope: 'full' });
  return key;
}
