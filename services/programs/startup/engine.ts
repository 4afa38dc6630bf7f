import type { Config } from '#config';
import { composeEngine, EngineNode, modelsUpTo } from '#engine/engine-node';
import type { CourierClient } from '#grpc/courier-messages';
import { engineProtocol } from '#grpc/engine-codec';
import type { EngineClient } from '#grpc/engine-messages';
import { frameService } from '#grpc/frame-server';
import type { WireService } from '#grpc/grpc-server';
import { auditTrailOf } from '#startup/audit-trail';
import { engineConnector, retryCounter, serverObserver } from '#startup/cluster';
import { remoteCouriers } from '#startup/courier';
import {
  type ClusterParts,
  nodeConfigOf,
  nodePortsOf,
  openNodeProcess,
  showShards,
} from '#startup/node';
import type { Foundation } from '#startup/process/dependencies';
import type { Opened } from '#startup/process/lifetime';
import type { LocalStores } from '#startup/stores/store-set';

/**
 * Opens an engine process: instances and directories behind gRPC. With in-memory storage the engine
 * is alone, otherwise it is a node of a cluster.
 */
export async function openEngine(config: Config, stop: AbortSignal): Promise<Opened> {
  return await openNodeProcess(config, stop, {
    service: 'engine',
    listen: 'SERVICE_ENGINE_LISTEN',
    advertise: 'SERVICE_ENGINE_ADVERTISE',
    async alone(foundation, stores) {
      const actors = new AsyncDisposableStack();
      const couriers = actors.use(remoteCouriers(config, foundation));
      const engine = actors.use(engineAlone(config, foundation, stores, couriers));
      const service = wireServiceOf(foundation, engine);
      return { service, actors, node: undefined, administration: undefined };
    },
    async member(foundation, parts) {
      const actors = new AsyncDisposableStack();
      const couriers = actors.use(remoteCouriers(config, foundation));
      const node = actors.use(await engineNodeOf(config, foundation, parts, couriers));
      const service = wireServiceOf(foundation, node);
      return { service, actors, node, administration: undefined };
    },
  });
}

/** Creates an engine node that has not joined its cluster. Rejects as `nodeConfigOf`. */
export async function engineNodeOf(
  config: Config,
  foundation: Foundation,
  { stores, bus, clocks }: ClusterParts,
  courier: CourierClient | undefined,
): Promise<EngineNode> {
  const { clock, metrics, onBug, tracer, actors } = foundation;
  const models = modelsUpTo(config.SERVICE_MODEL_MAX);
  const { instances, listings, feeds } = stores;
  const trail = auditTrailOf(foundation, stores.audit);
  const place = await nodeConfigOf('engine', config, foundation, stores);
  const node = new EngineNode(
    { node: place, actors },
    {
      engine: { clock, metrics, instances, listings, feeds, models, onBug, tracer, courier, trail },
      node: nodePortsOf('engine', foundation, { stores, bus, clocks }),
      connect: engineConnector(foundation),
      random: Math.random,
      onRetry: retryCounter(foundation),
    },
  );
  showShards(place, metrics, node);
  return node;
}

/** Creates a standalone engine on in-memory storage. */
export function engineAlone(
  config: Config,
  foundation: Foundation,
  { instances, listings, feeds, audit, engineJournal: journal }: LocalStores,
  courier: CourierClient | undefined,
): ReturnType<typeof composeEngine> {
  const stores = { instances, listings, feeds, journal };
  const models = modelsUpTo(config.SERVICE_MODEL_MAX);
  const { clock, metrics, onBug, tracer, actors } = foundation;
  const trail = auditTrailOf(foundation, audit);
  const ports = { ...stores, clock, metrics, models, onBug, tracer };
  return composeEngine(actors, { ...ports, courier, trail });
}

function wireServiceOf(
  { metrics, onBug: reportBug, tracer }: Foundation,
  engine: EngineClient,
): WireService {
  return frameService(engineProtocol, engine, {
    reportBug,
    tracer,
    observer: serverObserver(metrics, 'engine'),
  });
}
