import type { Call } from '#test/chaos/load/call-log';
import { quantile } from '#test/chaos/timeline';

/** A period without one or all limiters. Times are monotonic milliseconds. */
export type LimiterOutage = {
  /** The absent limiters. */
  readonly limiters: readonly string[];
  /** Accounts whose meters these limiters owned. */
  readonly accounts: ReadonlySet<string>;
  readonly fromMs: number;
  /** When others served every shard, or when the first replacement of all limiters started. */
  readonly backMs: number;
  /** End of the fault. */
  readonly toMs: number;
  /** Observations applied by engines while no limiter was running; undefined if one was. */
  readonly cyclesMeanwhile: number | undefined;
};

/** Effect of an outage on calls with a single attempt. Times in milliseconds. */
export type OutageFigures = {
  readonly calls: number;
  readonly refused: number;
  /** From the start of the outage to the start of the last refused call; 0 if none. */
  readonly refusedUntilMs: number;
};

/** Whether the call was refused for an absent limiter: the edge fails closed (decision 24). */
function isRefused({ outcome }: Call): boolean {
  return outcome.kind === 'refused' && outcome.reason === 'limiter_unavailable';
}

/**
 * Calls of this period without a key. Calls with a key are retried and log only their last answer.
 */
function sentOnce(calls: readonly Call[], fromMs: number, toMs: number): Call[] {
  return calls.filter(
    ({ key, startMs }) => key === undefined && startMs >= fromMs && startMs < toMs,
  );
}

/** Outage figures of the affected accounts (`own`) or of all others, from `fromMs` to `toMs`. */
export function outageFigures(
  log: readonly Call[],
  { accounts, fromMs, toMs }: Pick<LimiterOutage, 'accounts' | 'fromMs' | 'toMs'>,
  whose: 'own' | 'others',
): OutageFigures {
  const calls = sentOnce(log, fromMs, toMs).filter(
    ({ accountId }) => accounts.has(accountId) === (whose === 'own'),
  );
  const refused = calls.filter(isRefused);
  const untilMs = Math.max(fromMs, ...refused.map(({ startMs }) => startMs));
  return { calls: calls.length, refused: refused.length, refusedUntilMs: untilMs - fromMs };
}

/** Latencies of refusals from the start of an outage until limiters are back. */
export function refusalTimes(
  log: readonly Call[],
  { fromMs, backMs }: Pick<LimiterOutage, 'fromMs' | 'backMs'>,
): { readonly p50: number; readonly p99: number; readonly longest: number } {
  const times = sentOnce(log, fromMs, backMs)
    .filter(isRefused)
    .map(({ startMs, endMs }) => endMs - startMs);
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), longest: quantile(times, 1) };
}
