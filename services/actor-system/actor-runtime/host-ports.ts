import type { CommitLog } from '#actor-runtime/commit-log';
import type { RuntimeMetrics } from '#actor-runtime/runtime-metrics';
import type { ShardGate } from '#actor-runtime/shard-gate';
import type { ProcessPorts } from '#telemetry/process-ports';

/** Dependencies of a host on its process. */
export type ActorHostPorts = ProcessPorts & {
  readonly log: CommitLog;
  readonly gate: ShardGate;
  readonly metrics: RuntimeMetrics;
  /** Called when calls for a shard (undefined: all shards) are refused here from now on. */
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
