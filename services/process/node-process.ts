import { type Config, ConfigError } from '#config';
import { Fault } from '#fault/fault';
import type { Limiter } from '#limiter/compose';
import { isoTime } from '#platform/iso-time';
import type { Logger } from '#platform/logger';
import { type Administration, openAdminPort, openProcessPort } from '#process/admin-port';
import {
  type Foundation,
  type OperatorsPort,
  openFoundation,
  serveOperators,
} from '#process/foundation';
import { assertReachable, type ClusterParts, clockWatchOf, clusterOf } from '#process/membership';
import { overviewOfAlone, overviewOfCluster } from '#process/overview';
import { openBus, openStores } from '#process/ports';
import { type Opened, say } from '#process/process-life';
import { refusalObserver } from '#process/rpc-metrics';
import type { LocalStores } from '#process/stores';
import type { ShardedService } from '#storage/shard-store';
import { type AdminTarget, NO_INCARNATION } from '#wire/admin';
import { adminService } from '#wire/admin-service';
import { serveGrpc } from '#wire/grpc-server';
import type { WireService } from '#wire/wire-service';

/** A node of a cluster, as its process sees it. */
type ProcessNode = AdminTarget & {
  /** Joins the cluster, whose nodes reach this one at `address`. */
  join(address: string): Promise<void>;
};

/** What a process of one service serves. */
type Served = {
  readonly service: WireService;
  /** Ends what is served. */
  readonly actors: AsyncDisposable;
  /** Undefined: actors on memory, which are one of no cluster. */
  readonly node: ProcessNode | undefined;
  /** Administration of accounts, for the admin port; undefined: there is none. */
  readonly administration: (Administration & { readonly load?: Limiter['load'] }) | undefined;
};

/** How the processes of the two services differ. */
type NodeService = {
  readonly service: ShardedService;
  readonly listen: 'SERVICE_ENGINE_LISTEN' | 'SERVICE_LIMITER_LISTEN';
  readonly advertise: 'SERVICE_ENGINE_ADVERTISE' | 'SERVICE_LIMITER_ADVERTISE';
  /** Actors on memory, which no other process shares. */
  alone(foundation: Foundation, stores: LocalStores): Promise<Served>;
  /** A node of a cluster that has not joined. */
  member(foundation: Foundation, parts: ClusterParts): Promise<Served>;
};

/**
 * A process of one service. Its node is built first, then served, then joins: its address is part
 * of what it joins with, and until then it refuses every call itself.
 */
export async function openNodeProcess(
  config: Config,
  stop: AbortSignal,
  { service, listen, advertise, alone, member }: NodeService,
): Promise<Opened> {
  await using opening = new AsyncDisposableStack();
  if (config.SERVICE_STORAGE === 'sqlite') {
    throw new ConfigError('SERVICE_STORAGE: sqlite is the file of one process: standalone');
  }
  const foundation = opening.use(await openFoundation(config, service, stop));
  const tls = foundation.tls();
  const operators = opening.use(await serveOperators(config, foundation));
  const stores = opening.use(await openStores(config, foundation));
  if (stores.kind === 'shared') assertReachable(config, listen, advertise);
  const bus = opening.use(await openBus(config, foundation, await clusterOf(stores, foundation)));
  let served: Served;
  if (stores.kind === 'local') {
    served = await alone(foundation, stores);
  } else {
    const clocks = opening.use(clockWatchOf(config, foundation, bus, stores));
    served = await member(foundation, { stores, bus, clocks });
  }
  const { actors, node, administration } = served;
  const { onBug } = foundation;
  const onDrain = drainReporter(foundation, operators);
  const admin = adminService(node ?? targetOfAlone(service), onBug, onDrain);
  const services = [served.service, admin];
  const onRefused = refusalObserver(foundation);
  const server = await serveGrpc({ listen: config[listen], services, tls, onRefused });
  opening.use(server);
  // Ends before the server, which answers while the node's shards go to other nodes.
  opening.use(actors);
  const joined = node?.join(config[advertise] ?? server.address);
  await foundation.waits.during(() => 'the cluster to be joined', joined ?? Promise.resolve());
  const addresses: Record<string, string> = { grpc: server.address };
  if (administration !== undefined) {
    const { load } = administration;
    const overview = opening.use(
      stores.kind === 'local'
        ? await overviewOfAlone(foundation, { engine: undefined, limiter: load })
        : await overviewOfCluster(config, foundation, stores, bus),
    );
    const port = opening.use(await openAdminPort(config, foundation, administration, overview));
    addresses['admin'] = port.address;
  } else {
    const port = await openProcessPort(config, foundation);
    if (port !== undefined) addresses['admin'] = opening.use(port).address;
  }
  addresses['metrics'] = `${operators.address}/metrics`;
  stop.throwIfAborted();
  opening.use(operators.ready());
  say(foundation, addresses);
  return opening.move();
}

/** Logs who drains this node, once, and shows it in the readiness probe until the process ends. */
export function drainReporter(
  { logger, clock }: { readonly logger: Logger; readonly clock: Foundation['clock'] },
  operators: Pick<OperatorsPort, 'note'>,
): (requestedBy: string) => void {
  let isReported = false;
  return (requestedBy) => {
    if (isReported) return;
    isReported = true;
    logger.info({ requestedBy }, 'leaving: this node gives its shards to the others');
    const since = isoTime(clock.wallMs());
    operators.note(
      `leaving since ${since}: drained by ${requestedBy}, stop it when it owns no shard`,
    );
  };
}

/** What actors that are one of no cluster offer to operators: every call is refused. */
function targetOfAlone(service: ShardedService): AdminTarget {
  return {
    identity: () => NO_INCARNATION,
    drain: async () => {
      throw new Fault('service_unavailable', `this ${service} is none of a cluster`);
    },
  };
}
