/** The records of one actor that were recovered, and where they stand in the new owner's own log. */
export type RecoveredTail = {
  readonly lines: readonly string[];
  /** Position of the first of them in this process's commit log. */
  readonly offset: number;
};

/** Which actors may be served here, and what they bring with them. */
export interface ShardGate {
  /** The shard of an actor. */
  shardOf(actorId: string): number;
  /** Throws `service_unavailable` with reason `not_owner` unless the shard is open here. */
  assertOpen(shard: number): void;
  /**
   * Whether the shard is closing or closed and not yet open elsewhere: its next owner reads
   * everything again, so its actors need not learn what is stored already.
   */
  isClosing(shard: number): boolean;
  /** Records of the actor that are durable and in no checkpoint, recovered from a dead node. */
  tailOf(shard: number, actor: string, actorId: string): RecoveredTail | undefined;
  /** The actor has taken them over. */
  activated(shard: number, actor: string, actorId: string): void;
}

/** The gate of a process that shares its actors with no other. */
export const ONE_SHARD: ShardGate = {
  shardOf: () => 0,
  assertOpen: () => undefined,
  isClosing: () => false,
  tailOf: () => undefined,
  activated: () => undefined,
};
