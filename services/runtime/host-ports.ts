import type { ProcessPorts } from '#platform/variables';
import type { CommitLog } from '#runtime/commit-log';
import type { RuntimeMetrics } from '#runtime/runtime-metrics';
import type { ShardGate } from '#runtime/shard-gate';

/** What a host needs of its process. */
export type ActorHostPorts = ProcessPorts & {
  readonly log: CommitLog;
  readonly gate: ShardGate;
  readonly metrics: RuntimeMetrics;
  /** Hears that calls for a shard, or with undefined for any, are refused here from now on. */
  readonly onLeft?: (shard: number | undefined) => void;
};

/** How long and how much idle actors may stay in memory. */
export type ActorHostConfig = {
  readonly idleAgeMs: number;
  readonly memoryBytesMax: number;
  /** At what age dirty actors are stored; undefined: `CHECKPOINT_AGE_MS`. */
  readonly checkpointAgeMs?: number | undefined;
  /** The room for early rows, in bytes; undefined: `EARLY_ROWS_BYTES_MAX`. */
  readonly earlyRowsBytesMax?: number | undefined;
};
