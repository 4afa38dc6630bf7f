import type { Clock } from '#platform/clock';
import type { CommitLog } from '#runtime/commit-log';
import type { RuntimeMetrics } from '#runtime/runtime-metrics';
import type { ShardGate } from '#runtime/shard-gate';

/** What a host needs of its process. */
export type ActorHostPorts = {
  readonly clock: Clock;
  readonly log: CommitLog;
  readonly gate: ShardGate;
  readonly metrics: RuntimeMetrics;
  /** Called with what is no Fault: our own bugs, for the process's log. */
  readonly onBug: (error: unknown) => void;
};

/** How long and how much idle actors may stay in memory. */
export type ActorHostConfig = { readonly idleAgeMs: number; readonly memoryBytesMax: number };
