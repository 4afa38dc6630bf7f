import { type ShardOwner, toFault } from '#errors/fault';
import type { RecoverCall } from '#grpc/frame-client';
import { CONNECT_AGAIN_MS, PEER_IDLE_MS, PEER_SWEEP_MS, PEERS_MAX } from '#routing/retry-policy';
import { type Clock, every } from '#stdlib/clock';

/**
 * Connection to a node of a service at one address, for example a `PeerConnection`. Every call ends
 * within its timeout. Without a connection, calls fail at once as unavailable and with a known
 * outcome.
 */
export interface Peer<Call, Answer> extends AsyncDisposable {
  /** Sends a call once. `timeoutMs` is the rest of the call's original timeout. */
  ask(call: Call, options?: { readonly timeoutMs: number }): Answer | Promise<Answer>;
  /** Sends a call with its full timeout. A fault is passed to `recover` instead of being thrown. */
  askOr(call: Call, recover: RecoverCall<Call, Answer>): Answer | Promise<Answer>;
  /** Whether calls can be made, as far as this process has noticed. */
  readonly isOpen: boolean;
  /** Fulfils when calls can be made. Rejects if disposed first. */
  ready(): Promise<void>;
}

/**
 * Peer for this process's own node. The peer is always open. The node is disposed separately and
 * enforces the deadlines of calls.
 */
export function inProcessPeer<Call, Answer>(
  node: { ask(call: Call): Answer | Promise<Answer> },
  clock: Clock,
): Peer<Call, Answer> {
  return {
    isOpen: true,
    ask: (call) => node.ask(call),
    askOr(call, recover) {
      const askedAtMs = clock.monotonicMs();
      const recovered = (error: unknown): Promise<Answer> =>
        recover(call, toFault(error), askedAtMs) ?? Promise.reject(error);
      try {
        const answer = node.ask(call);
        return answer instanceof Promise ? answer.catch(recovered) : answer;
      } catch (error) {
        return recovered(error);
      }
    },
    ready: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** Options of a connection pool. */
type PeerPoolOptions<Call, Answer> = {
  readonly connect: (address: string) => Peer<Call, Answer>;
  /** Addresses that currently own a shard. */
  readonly owners: () => Iterable<string>;
  readonly clock: Clock;
  /** Called when the node at an address accepts calls again. */
  readonly onOpen: (address: string) => void;
};

type Pooled<Call, Answer> = {
  readonly peer: Peer<Call, Answer>;
  /** Incarnation that was last known to answer at the address. */
  incarnation: string | undefined;
  readonly triedSinceMs: number;
  neededAtMs: number;
  isWatched: boolean;
};

/**
 * Pool with one connection per address, opened when its node joins or is called. A connection is
 * closed when its node has owned no shard for 30 s. No call can be using the connection then,
 * because every call is shorter.
 */
export class PeerPool<Call, Answer> implements AsyncDisposable {
  readonly #options: PeerPoolOptions<Call, Answer>;
  readonly #peers = new Map<string, Pooled<Call, Answer>>();
  readonly #sweeping: Disposable;

  constructor(options: PeerPoolOptions<Call, Answer>) {
    this.#options = options;
    this.#sweeping = every(options.clock, PEER_SWEEP_MS, () => this.#sweep());
  }

  get size(): number {
    return this.#peers.size;
  }

  /** Connection to `address`, opened if necessary. Undefined if the pool is full. */
  at(address: string, incarnation?: string): Peer<Call, Answer> | undefined {
    return this.#peers.get(address)?.peer ?? this.#connect(address, incarnation);
  }

  /**
   * Connects to a node that was heard at an address, so that its first call finds a connection. An
   * existing connection that is not open is replaced, because its pauses between attempts may have
   * grown. A connection attempt to the same incarnation is kept if it began less than 500 ms ago.
   */
  meet({ address, incarnation }: Pick<ShardOwner, 'incarnation' | 'address'>): void {
    const pooled = this.#peers.get(address);
    if (pooled !== undefined) {
      const isKnown = pooled.incarnation === incarnation;
      pooled.incarnation = incarnation;
      const triedForMs = this.#options.clock.monotonicMs() - pooled.triedSinceMs;
      if (pooled.peer.isOpen || (isKnown && triedForMs < CONNECT_AGAIN_MS)) return;
      this.#drop(address, pooled.peer);
    }
    this.#connect(address, incarnation);
  }

  /** Calls `onOpen` once the node at `address` accepts calls, unless it accepts calls already. */
  watch(address: string): void {
    const pooled = this.#peers.get(address);
    if (pooled === undefined || pooled.isWatched || pooled.peer.isOpen) return;
    pooled.isWatched = true;
    const settled = (): void => {
      pooled.isWatched = false;
      if (pooled.peer.isOpen) this.#options.onOpen(address);
    };
    pooled.peer.ready().then(settled, settled);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#sweeping[Symbol.dispose]();
    const peers = [...this.#peers.values()];
    this.#peers.clear();
    await Promise.all(peers.map(({ peer }) => peer[Symbol.asyncDispose]()));
  }

  #connect(address: string, incarnation: string | undefined): Peer<Call, Answer> | undefined {
    if (this.#peers.size >= PEERS_MAX) return undefined;
    const peer = this.#options.connect(address);
    const nowMs = this.#options.clock.monotonicMs();
    this.#peers.set(address, {
      peer,
      incarnation,
      triedSinceMs: nowMs,
      neededAtMs: nowMs,
      isWatched: false,
    });
    return peer;
  }

  #sweep(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const address of this.#options.owners()) {
      const pooled = this.#peers.get(address);
      if (pooled !== undefined) pooled.neededAtMs = nowMs;
    }
    for (const [address, { peer, neededAtMs }] of this.#peers) {
      if (nowMs - neededAtMs < PEER_IDLE_MS) continue;
      this.#drop(address, peer);
    }
  }

  #drop(address: string, peer: Peer<Call, Answer>): void {
    this.#peers.delete(address);
    // Errors while closing have no consequence.
    Promise.resolve(peer[Symbol.asyncDispose]()).catch(() => undefined);
  }
}
