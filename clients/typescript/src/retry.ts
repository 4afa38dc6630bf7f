import type { Failure } from './answer.ts';
import type { Repeatable } from './call.ts';
import type { Deadline } from './deadline.ts';
import { ApiError, ConnectionError, MalformedAnswerError } from './errors.ts';

/** The first step of the backoff, in milliseconds. */
const BACKOFF_MS = 100;

/** The largest step of the backoff, in milliseconds. */
export const BACKOFF_MS_MAX = 5_000;

/**
 * How long to wait before the attempt after the one with this ordinal (from 1), in milliseconds: full jitter
 * over 100 ms · 2^(ordinal − 1), at most 5 s, on top of what the answer asked for, so that callers who were
 * refused together do not come back together.
 */
export function waitMs(
  attempts: number,
  retryAfterMs: number | undefined,
  random: () => number,
): number {
  const step = Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** (attempts - 1));
  return Math.ceil((retryAfterMs ?? 0) + random() * step);
}

/**
 * A wait as it fits into the deadline: shortened to half of the time that is left, so that attempts go on until
 * the deadline, but not below what the answer asked for. Undefined where no other attempt fits.
 */
export function fittedMs(
  waitedMs: number,
  retryAfterMs: number | undefined,
  deadline: Pick<Deadline, 'leftMs'>,
): number | undefined {
  const leftMs = deadline.leftMs();
  const fitted = Math.min(waitedMs, Math.max(retryAfterMs ?? 0, Math.floor(leftMs / 2)));
  return leftMs < BACKOFF_MS || fitted >= leftMs ? undefined : fitted;
}

/** Whether a call may be sent again after this failure of an attempt. */
export function mayRepeat({ error }: Failure, repeatable: Repeatable): boolean {
  if (!isPassing(error)) return false;
  return repeatable !== 'if_nothing_happened' || isCertain(error);
}

/** Statuses that another attempt may not meet, the service's own and a proxy's. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 500, 502, 503, 504]);

/** Whether another attempt may come to something else. */
function isPassing(error: Failure['error']): boolean {
  if (error instanceof ConnectionError) return true;
  if (error instanceof MalformedAnswerError) return PASSING_STATUSES.has(error.status);
  if (error.code === 'rate_limited') return true;
  return error.code !== 'billing_provider_not_configured' && PASSING_STATUSES.has(error.status);
}

/** Whether an attempt certainly changed nothing: no connection, 429 `rate_limited`, or a 503 that says so. */
function isCertain(error: Failure['error']): boolean {
  if (error.mayHaveHappened) return false;
  if (error instanceof ConnectionError) return true;
  return error instanceof ApiError && (error.status === 429 || error.status === 503);
}
