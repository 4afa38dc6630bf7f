import type { CommitLog } from '#actor-runtime/commit-log';
import type { Outbox } from '#actor-runtime/outbox';
import type { RuntimeMetrics } from '#actor-runtime/runtime-metrics';
import type { ProcessPorts } from '#telemetry/process-ports';

/** Dependencies of a host on its process. */
export type ActorHostPorts = ProcessPorts & {
  readonly log: CommitLog;
  readonly gate: ShardGate;
  readonly metrics: RuntimeMetrics;
  /** Outbox for the notices of the actors. Undefined: the actors have no notices. */
  readonly outbox?: Outbox | undefined;
  /** Called when this process begins to refuse calls for a shard (undefined: for all shards). */
  readonly onLeft?: (shard: number | undefined) => void;
};

/** Bounds on the age and memory of actors. */
export type ActorHostConfig = {
  readonly idleAgeMs: number;
  readonly memoryBytesMax: number;
  /** Age at which dirty actors are stored, in milliseconds. Undefined: `CHECKPOINT_AGE_MS`. */
  readonly checkpointAgeMs?: number | undefined;
  /** Room for early rows, in bytes. Undefined: `EARLY_ROWS_BYTES_MAX`. */
  readonly earlyRowsBytesMax?: number | undefined;
};

/** Recovered records of one actor, and their position in the new owner's log. */
export type RecoveredTail = {
  readonly lines: readonly string[];
  /** Position of the first record in this process's commit log. */
  readonly offset: number;
};

/**
 * Phase of a closing shard up to which a kind serves calls. The actors that serve until `closed`
 * are closed last, so that the others can still send them notices.
 */
export type ServedUntil = 'closing' | 'closed';

/** Decides which actors this process serves, and supplies their recovered records. */
export interface ShardGate {
  /** Shard of an actor. */
  shardOf(actorId: string): number;
  /**
   * Throws `service_unavailable` with reason `not_owner` unless the shard is open here. Actors that
   * serve `until` `closed` also serve while the other actors of a closing shard are stored.
   */
  assertOpen(shard: number, until?: ServedUntil): void;
  /**
   * Whether the shard is closing, or closed and not yet open elsewhere. The next owner reloads
   * every actor, so actors here need no notice of changes that are stored already.
   */
  isClosing(shard: number): boolean;
  /** Recovered records of the actor from a failed node: durable, but in no checkpoint. */
  tailOf(shard: number, actor: string, actorId: string): RecoveredTail | undefined;
  /** Called when the actor has replayed its recovered records. */
  activated(shard: number, actor: string, actorId: string): void;
}
