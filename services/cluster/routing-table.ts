import type { Member, Members } from '#cluster/members';
import type { ShardOwner } from '#fault/fault';

/** Hears that a shard has another owner. */
type OwnerListener = (shard: number, owner: ShardOwner) => void;

/** Hears who is there that was not before. */
type JoinedListener = (node: Pick<Member, 'incarnation' | 'address'>) => void;

/**
 * Where to send calls for a shard: what heartbeats, announcements and `not_owner` answers said,
 * the largest epoch of all. It never invents an owner, and silence takes none away: without a bus
 * serving goes on (architecture 3, 3.5).
 */
export class RoutingTable implements Disposable {
  readonly #owners: (ShardOwner | undefined)[];
  readonly #listeners = new Set<OwnerListener>();
  readonly #joinedListeners = new Set<JoinedListener>();
  #present: ReadonlySet<string> = new Set();
  readonly #opened = new DisposableStack();

  constructor({ members, shardCount }: { members: Members; shardCount: number }) {
    this.#owners = Array.from({ length: shardCount }, () => undefined);
    this.#opened.use(
      members.onHeartbeat(({ incarnation, address, shards }) => {
        for (const [shard, epoch] of shards) this.learn(shard, { incarnation, address, epoch });
      }),
    );
    this.#opened.use(
      members.onAnnouncement(({ shard, incarnation, address, epoch }) => {
        this.learn(shard, { incarnation, address, epoch });
      }),
    );
    this.#opened.use(members.onChange(() => this.#tellJoined(members.present())));
  }

  /** The owner of a shard; undefined as long as nobody has named one. */
  ownerOf(shard: number): ShardOwner | undefined {
    return this.#owners[shard];
  }

  /**
   * Believes an owner whose epoch is larger than the one known. Returns whether it did. A shard that
   * the cluster does not have is ignored.
   */
  learn(shard: number, { incarnation, address, epoch }: ShardOwner): boolean {
    if (!(shard in this.#owners)) return false;
    if (epoch <= (this.#owners[shard]?.epoch ?? 0)) return false;
    const owner = { incarnation, address, epoch };
    this.#owners[shard] = owner;
    for (const listener of this.#listeners) listener(shard, owner);
    return true;
  }

  /** Hears of every change of what `ownerOf` says. */
  onChange(listener: OwnerListener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Hears of each node that comes, before it owns anything; again if it was silent meanwhile. */
  onJoined(listener: JoinedListener): Disposable {
    this.#joinedListeners.add(listener);
    return { [Symbol.dispose]: () => void this.#joinedListeners.delete(listener) };
  }

  [Symbol.dispose](): void {
    this.#opened.dispose();
    this.#listeners.clear();
    this.#joinedListeners.clear();
  }

  #tellJoined(present: readonly Member[]): void {
    const before = this.#present;
    this.#present = new Set(present.map(({ incarnation }) => incarnation));
    for (const { incarnation, address } of present) {
      if (before.has(incarnation)) continue;
      for (const listener of this.#joinedListeners) listener({ incarnation, address });
    }
  }
}
