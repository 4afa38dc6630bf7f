import type { ShardedService } from '#storage/ports/cluster';

/** Incarnation that owns shards, and the service of the shards. */
export type OwnerConfig = { readonly service: ShardedService; readonly incarnation: string };

/** Claim to own a shard at an epoch that this incarnation does not own yet. */
export type ShardClaim = { readonly shard: number; readonly epoch: number };

/** Host of the actors in a process's shards, as the shard controller drives it. */
export interface ShardHost {
  /** Shards whose actors are served here, with their epochs. */
  readonly open: ReadonlyMap<number, number>;
  /** Whether the records for a claim have been recovered. */
  isRecovered(claim: ShardClaim): boolean;
  /**
   * Copies the records of the claimed shards from a sealed journal into this incarnation's journal.
   * Fulfils when the records are durable there. Rejects with `service_unavailable` if a store does
   * not answer, and with another error if the journal is corrupt.
   */
  recoverTail(incarnation: string, claims: readonly ShardClaim[]): Promise<void>;
  /** Starts serving a shard. */
  openShard(claim: ShardClaim): void;
  /**
   * Stops taking calls for a shard. Fulfils when all its actors are stored and evicted. Rejects if
   * this incarnation ends first. No other node can own the shard until `releasing`.
   *
   * Actors that send to other actors are stored first. The receivers serve until `whenLast`
   * fulfils, and are stored last.
   */
  closeShard(shard: number, whenLast: () => Promise<void>): Promise<void>;
  /**
   * Called before a change of the shard's owner is sent. From now on another node may own the
   * shard.
   */
  releasing(shard: number): void;
  /** Called when the shard's row has reached this epoch: claims up to the epoch are decided. */
  decided(claim: ShardClaim): void;
}
