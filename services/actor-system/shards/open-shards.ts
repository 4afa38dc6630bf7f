import type { ShardClaim } from '#cluster/shard-host';

/** Shards that an incarnation serves, with their epochs, and shards that it is closing. */
export class OpenShards {
  readonly #epochs = new Map<number, number>();
  readonly #closing = new Set<number>();
  #hasEnded = false;

  /** Epochs of all shards that are served, by shard. */
  get epochs(): ReadonlyMap<number, number> {
    return this.#epochs;
  }

  /** Whether calls for the shard are accepted. */
  has(shard: number): boolean {
    return this.#epochs.has(shard);
  }

  /** Whether the shard is closing, or closed and not yet released to another node. */
  isClosing(shard: number): boolean {
    return this.#closing.has(shard);
  }

  /** Whether the incarnation has ended. After the end no shard may open. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Accepts calls for the shard from now on. */
  open({ shard, epoch }: ShardClaim): void {
    this.#closing.delete(shard);
    this.#epochs.set(shard, epoch);
  }

  /** Refuses calls for the shard from now on. */
  close(shard: number): void {
    this.#epochs.delete(shard);
    this.#closing.add(shard);
  }

  /** Releases the closed shard: another node may own it from now on. */
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
