import type { ShardedService } from '#storage/ports/cluster';

/** The incarnation that owns shards, and the service of which they are. */
export type OwnerConfig = { readonly service: ShardedService; readonly incarnation: string };

/** A claim to the ownership of a shard at an epoch that this incarnation does not own yet. */
export type ShardClaim = { readonly shard: number; readonly epoch: number };

/** What the shard controller makes happen with the actors of a process's shards. */
export interface ShardHost {
  /** The shards whose actors are served here, with the epoch of each. */
  readonly open: ReadonlyMap<number, number>;
  /** Whether the records for a claim have been recovered. */
  isRecovered(claim: ShardClaim): boolean;
  /**
   * Copies the records of the claimed shards from a sealed journal into that of this incarnation,
   * and fulfils when they are durable there. Rejects with `service_unavailable` when a store gives
   * no answer, and with anything else when the journal is corrupt.
   */
  recoverTail(incarnation: string, claims: readonly ShardClaim[]): Promise<void>;
  /** Serves a shard from now on. */
  openShard(claim: ShardClaim): void;
  /**
   * Stops taking calls for a shard at once, and fulfils when everything of it is stored and out of
   * memory. Rejects when this incarnation ends before. Until `releasing` no other node can have it.
   */
  closeShard(shard: number): Promise<void>;
  /** A change of the shard's owner is about to be sent: from now on another node may have it. */
  releasing(shard: number): void;
  /** The shard's row stands at this epoch: claims up to it are decided. */
  decided(claim: ShardClaim): void;
}
