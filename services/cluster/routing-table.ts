import type { Members } from '#cluster/members';

/** Who answers for a shard, as far as this process has heard. */
export type ShardOwner = {
  readonly incarnation: string;
  /** `host:port` of its gRPC server. */
  readonly address: string;
  /** Of two owners the one with the larger epoch came later. */
  readonly epoch: number;
};

/** Hears that a shard has another owner, or none that is known. */
export type OwnerListener = (shard: number, owner: ShardOwner | undefined) => void;

/** What was learnt of one shard. A forgotten owner leaves its epoch: older ones stay older. */
type Entry = { readonly owner: ShardOwner; readonly isForgotten: boolean };

/**
 * Where to send calls for a shard: what heartbeats, announcements and `not_owner` answers said,
 * the largest epoch of all. It never invents an owner, and silence takes none away: without a bus
 * serving goes on (architecture 3, 3.5).
 */
export class RoutingTable implements Disposable {
  readonly #entries: (Entry | undefined)[];
  readonly #listeners = new Set<OwnerListener>();
  readonly #opened = new DisposableStack();

  constructor({ members, shardCount }: { members: Members; shardCount: number }) {
    this.#entries = Array.from({ length: shardCount }, () => undefined);
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
  }

  /** The owner of a shard; undefined as long as nobody has named one. */
  ownerOf(shard: number): ShardOwner | undefined {
    const entry = this.#entries[shard];
    return entry === undefined || entry.isForgotten ? undefined : entry.owner;
  }

  /**
   * Believes an owner whose epoch is larger than the one known, or equal to that of a forgotten
   * owner. Returns whether it did. A shard that the cluster does not have is ignored.
   */
  learn(shard: number, owner: ShardOwner): boolean {
    if (!(shard in this.#entries)) return false;
    const entry = this.#entries[shard];
    if (entry !== undefined && !isNews(owner, entry)) return false;
    const { incarnation, address, epoch } = owner;
    this.#set(shard, { owner: { incarnation, address, epoch }, isForgotten: false });
    return true;
  }

  /**
   * Forgets an owner that did not answer for the shard, if it still is the one known. Its next
   * heartbeat or a newer owner brings one back; an owner with a smaller epoch does not.
   */
  forgetOwner(shard: number, incarnation: string): void {
    const entry = this.#entries[shard];
    if (entry?.owner.incarnation !== incarnation || entry.isForgotten) return;
    this.#set(shard, { owner: entry.owner, isForgotten: true });
  }

  /** Hears of every change of what `ownerOf` says. */
  onChange(listener: OwnerListener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  [Symbol.dispose](): void {
    this.#opened.dispose();
    this.#listeners.clear();
  }

  #set(shard: number, entry: Entry): void {
    this.#entries[shard] = entry;
    for (const listener of this.#listeners) listener(shard, this.ownerOf(shard));
  }
}

function isNews(owner: ShardOwner, { owner: known, isForgotten }: Entry): boolean {
  return owner.epoch > known.epoch || (isForgotten && owner.epoch === known.epoch);
}
