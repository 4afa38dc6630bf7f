import type { Bus, Sender } from '#bus/bus';
import { NodePull, type Pull, type RecentMessages } from '#bus/node-pull';
import type { SignedBus } from '#bus/signed-bus';
import { decodeHeartbeat, heartbeatSubject } from '#cluster/heartbeat';
import type { Clock } from '#stdlib/clock';
import type { ShardedService } from '#storage/ports/cluster';

/** Time after the last heartbeat until a node's address is forgotten, in milliseconds. */
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
  readonly pull: Pull;
  /** Messages that this process published, for other processes. */
  readonly recent: RecentMessages;
};

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
  const heardMs = new Map<string, number>();
  const hear = (message: Uint8Array, sender?: Sender): void => {
    const address = decodeHeartbeat(message)?.address;
    const isOwn = bus.incarnation !== undefined && sender?.incarnation === bus.incarnation;
    if (address === undefined || isOwn) return;
    heardMs.delete(address);
    heardMs.set(address, clock.monotonicMs());
    const [longestSilent] = heardMs.keys();
    if (heardMs.size > KNOWN_MAX && longestSilent !== undefined) heardMs.delete(longestSilent);
  };
  for (const service of services) {
    opened.use(bus.subscribe(heartbeatSubject(prefix, service), hear));
  }
  const pulling = opened.use(
    new NodePull({
      clock,
      pull,
      isAway: () => !bus.isConnected,
      addresses() {
        const sinceMs = clock.monotonicMs() - KNOWN_MS;
        return [...heardMs].filter(([, atMs]) => atMs >= sinceMs).map(([address]) => address);
      },
      receive: (subject, message) => bus.receivePulled(subject, message),
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
