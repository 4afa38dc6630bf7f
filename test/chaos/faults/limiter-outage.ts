import type { Call } from '#test/chaos/load/call-log';
import { quantile } from '#test/chaos/timeline';

/** An outage of one limiter or all limiters. Times are monotonic milliseconds. */
export type LimiterOutage = {
  /** Names of the limiters that were down. */
  readonly limiters: readonly string[];
  /** Accounts whose meters these limiters owned. */
  readonly accounts: ReadonlySet<string>;
  readonly fromMs: number;
  /**
   * Time when other limiters served every shard. If every limiter was killed: time when the first
   * limiter had restarted.
   */
  readonly backMs: number;
  /** Time when all edges had received the new owners. */
  readonly toMs: number;
  /** Observations applied while no limiter was running; undefined if a limiter was running. */
  readonly cyclesMeanwhile: number | undefined;
};

/** Effect of an outage on calls without retries. Times in milliseconds. */
export type OutageFigures = {
  readonly calls: number;
  readonly refused: number;
  /** Time from the start of the outage to the start of the last refused call; 0 without refusal. */
  readonly refusedUntilMs: number;
};

/** Whether the edge refused the call for lack of a limiter (fail closed, decision 24). */
function isRefused({ outcome }: Call): boolean {
  return outcome.kind === 'refused' && outcome.reason === 'limiter_unavailable';
}

/**
 * Calls without a key that started in [`fromMs`, `toMs`). Calls with a key are left out: they are
 * retried, and the log contains only the last answer.
 */
function sentOnce(calls: readonly Call[], fromMs: number, toMs: number): Call[] {
  return calls.filter(
    ({ key, startMs }) => key === undefined && startMs >= fromMs && startMs < toMs,
  );
}

/** Figures for the outage's accounts (`own`) or for all `others`, from `fromMs` to `toMs`. */
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

/** Latencies in ms of the calls that were refused before limiters served every shard again. */
export function refusalTimes(
  log: readonly Call[],
  { fromMs, backMs }: Pick<LimiterOutage, 'fromMs' | 'backMs'>,
): { readonly p50: number; readonly p99: number; readonly longest: number } {
  const times = sentOnce(log, fromMs, backMs)
    .filter(isRefused)
    .map(({ startMs, endMs }) => endMs - startMs);
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), longest: quantile(times, 1) };
}
