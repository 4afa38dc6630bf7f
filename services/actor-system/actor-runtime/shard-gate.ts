/** Recovered records of one actor, and their position in the new owner's log. */
export type RecoveredTail = {
  readonly lines: readonly string[];
  /** Position of the first record in this process's commit log. */
  readonly offset: number;
};

/** Decides which actors this process serves, and supplies their recovered records. */
export interface ShardGate {
  /** Shard of an actor. */
  shardOf(actorId: string): number;
  /** Throws `service_unavailable` with reason `not_owner` unless the shard is open here. */
  assertOpen(shard: number): void;
  /**
   * Whether the shard is closing, or closed and not yet open elsewhere. Its next owner reloads
   * everything, so its actors need no notice of changes that are stored already.
   */
  isClosing(shard: number): boolean;
  /** Recovered records of the actor from a failed node: durable, but in no checkpoint. */
  tailOf(shard: number, actor: string, actorId: string): RecoveredTail | undefined;
  /** Called when the actor has replayed its recovered records. */
  activated(shard: number, actor: string, actorId: string): void;
}

/** Gate of a process without a cluster, which owns all actors. */
export const ONE_SHARD: ShardGate = {
  shardOf: () => 0,
  assertOpen: () => undefined,
  isClosing: () => false,
  tailOf: () => undefined,
  activated: () => undefined,
};
