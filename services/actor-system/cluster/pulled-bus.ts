import type { Bus, Sender } from '#bus/bus';
import { NodePull, type Pull, type RecentMessages } from '#bus/node-pull';
import type { SignedBus } from '#bus/signed-bus';
import { decodeHeartbeat, heartbeatSubject } from '#cluster/heartbeat';
import type { Clock } from '#stdlib/clock';
import type { ShardedService } from '#storage/ports/cluster';

/**
 * Time after the last heartbeat until a node's address is forgotten, in milliseconds. While the
 * server of the bus is away, no address is forgotten, because nodes may be cut off for long.
 */
const KNOWN_MS = 60_000;

/** Maximum number of known addresses. */
const KNOWN_MAX = 1_024;

/** Options of `pulledBus`. */
type PulledBusOptions = {
  readonly clock: Clock;
  /** Prefix of all subjects. */
  readonly prefix: string;
  /** Services whose nodes this process may ask. */
  readonly services: readonly ShardedService[];
  /** Pulls from a node of a service. Rejects if a process of another role answers. */
  readonly pull: (service: ShardedService) => Pull;
  /** Messages that this process published, for other processes. */
  readonly recent: RecentMessages;
};

/** A node whose heartbeats arrived. */
type KnownNode = { readonly service: ShardedService; readonly heardMs: number };

/**
 * Whether a node of a service may publish on a subject: the permissions that nodes have on NATS.
 * Limiters also publish changes of accounts.
 */
function mayPublish(service: ShardedService, subject: string, prefix: string): boolean {
  if (subject.startsWith(`${prefix}.${service}.`)) return true;
  return service === 'limiter' && subject === `${prefix}.accounts`;
}

/** A bus, and the messages that this process published on it. */
export type PulledBus = Bus & { readonly recent: RecentMessages };

/**
 * The bus of a process in a cluster. While the server of the bus is away, pulls messages from all
 * nodes whose heartbeats arrived in the last minute.
 */
export function pulledBus(bus: SignedBus, options: PulledBusOptions): PulledBus {
  const { clock, prefix, services, pull, recent } = options;
  const opened = new AsyncDisposableStack();
  opened.use(bus);
  const nodes = new Map<string, KnownNode>();
  const hear = (service: ShardedService, message: Uint8Array, sender?: Sender): void => {
    const address = decodeHeartbeat(message)?.address;
    const isOwn = bus.incarnation !== undefined && sender?.incarnation === bus.incarnation;
    if (address === undefined || isOwn) return;
    const heardMs = clock.monotonicMs();
    nodes.delete(address);
    nodes.set(address, { service, heardMs });
    // The map begins with the node that was silent longest.
    for (const [silent, node] of nodes) {
      const isOld = bus.isConnected && heardMs - node.heardMs > KNOWN_MS;
      if (nodes.size <= KNOWN_MAX && !isOld) break;
      nodes.delete(silent);
    }
  };
  for (const service of services) {
    const listener = (message: Uint8Array, sender?: Sender) => hear(service, message, sender);
    opened.use(bus.subscribe(heartbeatSubject(prefix, service), listener));
  }
  const pulling = opened.use(
    new NodePull({
      clock,
      isAway: () => !bus.isConnected,
      addresses: () => [...nodes.keys()],
      async pull(address, after) {
        const node = nodes.get(address);
        if (node === undefined) throw new Error('the node is forgotten');
        return await pull(node.service)(address, after);
      },
      receive(subject, message, address) {
        const service = nodes.get(address)?.service;
        if (service !== undefined && mayPublish(service, subject, prefix)) {
          bus.receivePulled(subject, message);
        }
      },
    }),
  );
  return {
    recent,
    ...(bus.incarnation === undefined ? {} : { incarnation: bus.incarnation }),
    get isConnected() {
      return bus.isConnected;
    },
    get hearsNodes() {
      return bus.isConnected || pulling.isAnswered;
    },
    publish: (subject, message) => bus.publish(subject, message),
    subscribe: (subject, listener, onStranger) => bus.subscribe(subject, listener, onStranger),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
