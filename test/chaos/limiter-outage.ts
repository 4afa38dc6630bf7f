import type { Call } from '#test/chaos/call-log';
import { quantile } from '#test/chaos/timeline';

/** A time in which one limiter was gone, or every one. Times are monotonic milliseconds. */
export type LimiterOutage = {
  /** Who was gone. */
  readonly limiters: readonly string[];
  /** The accounts whose meters they had. */
  readonly accounts: ReadonlySet<string>;
  readonly fromMs: number;
  /** When others served every shard, or the first of all limiters was started again. */
  readonly backMs: number;
  /** When the fault was over. */
  readonly toMs: number;
  /** Observations that engines applied while there was no limiter; undefined if there was one. */
  readonly cyclesMeanwhile: number | undefined;
};

/** What calls met in an outage, of which the caller saw a single try. Times in milliseconds. */
export type OutageFigures = {
  readonly calls: number;
  readonly refused: number;
  /** From the beginning of the outage until the last call that was refused was sent; 0 if none was. */
  readonly refusedUntilMs: number;
};

/** How a limiter's absence shows: the edge fails closed (decision 24). */
function isRefused({ outcome }: Call): boolean {
  return outcome.kind === 'refused' && outcome.reason === 'limiter_unavailable';
}

/** Calls that were sent in this time; calls with a key are tried again and show their last answer alone. */
function sentOnce(calls: readonly Call[], fromMs: number, toMs: number): Call[] {
  return calls.filter(
    ({ key, startMs }) => key === undefined && startMs >= fromMs && startMs < toMs,
  );
}

/** What the accounts met whose limiter was gone (`own`), or the others, from `fromMs` to `toMs`. */
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

/** How long calls waited for their refusal from the beginning of an outage until limiters came back. */
export function refusalTimes(
  log: readonly Call[],
  { fromMs, backMs }: Pick<LimiterOutage, 'fromMs' | 'backMs'>,
): { readonly p50: number; readonly p99: number; readonly longest: number } {
  const times = sentOnce(log, fromMs, backMs)
    .filter(isRefused)
    .map(({ startMs, endMs }) => endMs - startMs);
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), longest: quantile(times, 1) };
}
