import type { LoadRun } from '#bench/limiter/load';
import type { CpuCost } from '#bench/wrk';

/** Who decides, by the letters of the report. */
export const DECIDERS = ['l', 'r', 'redis'] as const;

/** One of `DECIDERS`. */
export type DeciderLabel = (typeof DECIDERS)[number];

/** What each letter stands for. */
export const DECIDER_TITLES: Readonly<Record<DeciderLabel, string>> = {
  l: 'limiter: Admit and Settle of a cycle',
  r: 'limiter: Admit without a cycle',
  redis: 'Redis: a script for minute and month',
};

/** What one load of one decider came to; void when `problem` says why. */
export type DecisionResult = {
  readonly decisionsPerS: number;
  /** Of the slower caller process. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly longestMs: number;
  readonly cpu: readonly CpuCost[];
  readonly problem: string | undefined;
};

/** Everything that was found out about the limiter. */
export type LimiterFindings = {
  readonly rows: readonly DecisionRow[];
  /** Whether there was a Redis to compare with. */
  readonly isCompared: boolean;
};

/** One load of one round. */
export type DecisionRow = {
  readonly label: DeciderLabel;
  readonly round: number;
  readonly run: LoadRun;
  readonly result: DecisionResult;
};
