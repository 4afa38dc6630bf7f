import type { ShardClaim } from '#cluster/shard-host';

/** Which shards an incarnation serves, at which epochs, and which it is closing. */
export class OpenShards {
  readonly #epochs = new Map<number, number>();
  readonly #closing = new Set<number>();
  #hasEnded = false;

  /** The epoch of every shard that is served. */
  get epochs(): ReadonlyMap<number, number> {
    return this.#epochs;
  }

  /** Whether calls for the shard are taken. */
  has(shard: number): boolean {
    return this.#epochs.has(shard);
  }

  /** Whether the shard is closing, or closed and no other node can have it yet. */
  isClosing(shard: number): boolean {
    return this.#closing.has(shard);
  }

  /** Whether the incarnation has ended: then no shard opens. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Takes calls for the shard from now on. */
  open({ shard, epoch }: ShardClaim): void {
    this.#closing.delete(shard);
    this.#epochs.set(shard, epoch);
  }

  /** Takes no more calls for the shard. */
  close(shard: number): void {
    this.#epochs.delete(shard);
    this.#closing.add(shard);
  }

  /** From now on another node may have the closed shard. */
  release(shard: number): void {
    this.#closing.delete(shard);
  }

  /** Closes every shard at once and for good. */
  end(): void {
    this.#hasEnded = true;
    this.#epochs.clear();
    this.#closing.clear();
  }
}
