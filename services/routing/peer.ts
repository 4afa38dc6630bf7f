import { type ShardOwner, toFault } from '#fault/fault';
import { type Clock, every } from '#platform/clock';
import { CONNECT_AGAIN_MS, PEER_IDLE_MS, PEER_SWEEP_MS, PEERS_MAX } from '#routing/policy';
import type { RecoverCall } from '#wire/frame-client';

/**
 * One node of a service, at one address; a `PeerConnection` is one. Every call ends in its time.
 * While there is no connection calls fail at once as unavailable, and with a known outcome.
 */
export interface Peer<Call, Answer> extends AsyncDisposable {
  /** Asks once. `timeoutMs` is what is left of the time that the call had at first. */
  ask(call: Call, options?: { readonly timeoutMs: number }): Answer | Promise<Answer>;
  /**
   * As `ask` with all the time that a call has, but throws nothing: what fails is handed to
   * `recover` first.
   */
  askOr(call: Call, recover: RecoverCall<Call, Answer>): Answer | Promise<Answer>;
  /** Whether calls can be made, as far as is known. */
  readonly isOpen: boolean;
  /** Settles when calls can be made; rejects when disposed first. */
  ready(): Promise<void>;
}

/**
 * This process's own node as a peer: always open, and not disposed with the peer. The node itself
 * sees to it that calls end in time.
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

/** What a pool of connections needs. */
type PeerPoolOptions<Call, Answer> = {
  readonly connect: (address: string) => Peer<Call, Answer>;
  /** The addresses that own a shard now. */
  readonly owners: () => Iterable<string>;
  readonly clock: Clock;
  /** The node at an address can be asked, after it could not. */
  readonly onOpen: (address: string) => void;
};

type Pooled<Call, Answer> = {
  readonly peer: Peer<Call, Answer>;
  /** Who was last said to answer at the address. */
  incarnation: string | undefined;
  readonly triedSinceMs: number;
  neededAtMs: number;
  isWatched: boolean;
};

/**
 * One connection per address, made when its node comes or is asked. It goes when that has had no
 * shard for 30 s; then no call can be on it any more, because none lasts that long.
 */
export class PeerPool<Call, Answer> implements AsyncDisposable {
  readonly #options: PeerPoolOptions<Call, Answer>;
  readonly #peers = new Map<string, Pooled<Call, Answer>>();
  readonly #sweeping: Disposable;

  constructor(options: PeerPoolOptions<Call, Answer>) {
    this.#options = options;
    this.#sweeping = every(options.clock, PEER_SWEEP_MS, () => this.#sweep());
  }

  /** How many connections there are. */
  get size(): number {
    return this.#peers.size;
  }

  /** The node at `address`; undefined when there are too many to connect to one more. */
  at(address: string, incarnation?: string): Peer<Call, Answer> | undefined {
    return this.#peers.get(address)?.peer ?? this.#connect(address, incarnation);
  }

  /**
   * A node answers at an address, as is heard: connects to it, so that its first call finds a
   * connection. What is not open by now is tried again, because the pauses between attempts have
   * grown while the address was dead, but not what has just begun.
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

  /** Calls `onOpen` when the node at `address` can be asked, unless it can already. */
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
    // What fails while it closes has no consequence.
    Promise.resolve(peer[Symbol.asyncDispose]()).catch(() => undefined);
  }
}
