import type { LoadRun } from '#bench/limiter/load';
import type { CpuCost } from '#bench/load/wrk';

/** Labels of the deciders in the report. */
export const DECIDERS = ['l', 'r', 'redis'] as const;

/** Label of one decider. */
export type DeciderLabel = (typeof DECIDERS)[number];

/** Title of each decider. */
export const DECIDER_TITLES: Readonly<Record<DeciderLabel, string>> = {
  l: 'limiter: Admit and Settle of a cycle',
  r: 'limiter: Admit without a cycle',
  redis: 'Redis: a script for minute and month',
};

/** Result of a decider's load; void if `problem` is set. */
export type DecisionResult = {
  readonly decisionsPerS: number;
  /** 50th percentile of the latency, in ms: the larger value of the caller processes. */
  readonly p50Ms: number;
  /** 99th percentile of the latency, in ms: the larger value of the caller processes. */
  readonly p99Ms: number;
  readonly longestMs: number;
  readonly cpu: readonly CpuCost[];
  readonly problem: string | undefined;
};

/** Results of the limiter benchmark. */
export type LimiterFindings = {
  readonly rows: readonly DecisionRow[];
  /** Whether Redis was available for the comparison. */
  readonly isCompared: boolean;
};

/** Result of one load on one decider in a round. */
export type DecisionRow = {
  readonly label: DeciderLabel;
  readonly round: number;
  readonly run: LoadRun;
  readonly result: DecisionResult;
};
