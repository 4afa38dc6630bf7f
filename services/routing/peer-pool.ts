import { type Clock, every } from '#platform/clock';
import type { JoinedNode } from '#routing/owner-table';
import type { Peer } from '#routing/peer';
import { PEER_IDLE_MS, PEER_SWEEP_MS, PEERS_MAX } from '#routing/routing-bounds';

/** What a pool of connections needs. */
export type PeerPoolOptions<Call, Answer> = {
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
   * Connects to a node that has come, so that its first call finds a connection: making one takes a
   * busy machine longer than a limiter may take.
   */
  meet({ address, incarnation }: JoinedNode): void {
    if (this.#peers.has(address)) this.renew({ address, incarnation });
    else this.#connect(address, incarnation);
  }

  /**
   * Somebody new answers at an address: if there is no connection, one is tried now, because the
   * pauses between attempts have grown while the address was dead.
   */
  renew({ address, incarnation }: JoinedNode): void {
    const pooled = this.#peers.get(address);
    if (pooled === undefined || pooled.incarnation === incarnation) return;
    pooled.incarnation = incarnation;
    if (pooled.peer.isOpen) return;
    this.#drop(address, pooled.peer);
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
    const neededAtMs = this.#options.clock.monotonicMs();
    this.#peers.set(address, { peer, incarnation, neededAtMs, isWatched: false });
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
    // Whatever fails while it closes is of no more use to anybody.
    Promise.resolve(peer[Symbol.asyncDispose]()).catch(() => undefined);
  }
}
