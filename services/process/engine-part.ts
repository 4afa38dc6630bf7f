import type { Config } from '#config';
import { composeEngine } from '#engine/compose';
import { joinEngines } from '#process/engine-service';
import { foundationOf, serveOperators } from '#process/foundation';
import { LateNode } from '#process/late-node';
import { assertReachable, clockWatchOf, clusterOf } from '#process/membership';
import { openBus, openStores } from '#process/ports';
import type { Opened } from '#process/process-life';
import { say } from '#process/ready-line';
import { refusalObserver, serverObserver } from '#process/rpc-metrics';
import type { AdminTarget, InstanceAdmin } from '#wire/admin';
import { adminService } from '#wire/admin-service';
import type { EngineClient } from '#wire/engine-messages';
import { engineServer } from '#wire/engine-server';
import { serveGrpc } from '#wire/grpc-server';

/** An engine process: instances and directories behind gRPC, alone on memory or one of a cluster. */
export async function openEngine(config: Config): Promise<Opened> {
  await using opening = new AsyncDisposableStack();
  const foundation = foundationOf(config, 'engine');
  const tls = foundation.tls();
  const operators = opening.use(await serveOperators(config, foundation));
  const stores = opening.use(await openStores(config, foundation));
  if (stores.kind === 'shared') {
    assertReachable(config, 'SERVICE_ENGINE_LISTEN', 'SERVICE_ENGINE_ADVERTISE');
  }
  const bus = opening.use(await openBus(config, foundation, await clusterOf(stores, foundation)));
  const late = new LateNode<EngineClient, InstanceAdmin>('engine');
  const { onBug: reportBug } = foundation;
  const observer = serverObserver(foundation.metrics, 'engine');
  const admin: AdminTarget = {
    identity: () => late.identity(),
    drain: () => late.drain(),
    readInstance: async (id) => await late.admin.readInstance(id),
  };
  const engine: EngineClient = { ask: (call) => late.client.ask(call) };
  const services = [engineServer(engine, { reportBug, observer }), adminService(admin, reportBug)];
  const listen = config.SERVICE_ENGINE_LISTEN;
  const onRefused = refusalObserver(foundation);
  const server = opening.use(await serveGrpc({ listen, services, tls, onRefused }));
  if (stores.kind === 'local') {
    const ports = { ...foundation, ...stores, journal: stores.engineJournal };
    late.begin(opening.use(composeEngine(foundation.actors, ports)));
  } else {
    const address = config.SERVICE_ENGINE_ADVERTISE ?? server.address;
    const clocks = opening.use(clockWatchOf(config, foundation, bus, stores));
    const node = await joinEngines(config, foundation, stores, bus, address, clocks);
    late.beginNode(opening.use(node));
  }
  opening.use(operators.ready());
  say('engine', { grpc: server.address, metrics: `${operators.address}/metrics` });
  return opening.move();
}
