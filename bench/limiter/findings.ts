import type { LoadRun } from '#bench/limiter/load';
import type { CpuCost } from '#bench/load/wrk';

/** Deciders, by their letters in the report. */
export const DECIDERS = ['l', 'r', 'redis'] as const;

/** Letter of a decider. */
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
  /** Percentiles and maximum come from the slower caller process. */
  readonly p50Ms: number;
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

/** A load in a round. */
export type DecisionRow = {
  readonly label: DeciderLabel;
  readonly round: number;
  readonly run: LoadRun;
  readonly result: DecisionResult;
};
