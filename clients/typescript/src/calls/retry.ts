import type { Failure } from '../answer.ts';
import { ApiError, ConnectionError, MalformedAnswerError } from '../errors.ts';
import type { Repeatable } from './call.ts';
import type { Deadline } from './deadline.ts';

/** First step of the exponential backoff, in milliseconds. */
const BACKOFF_MS = 100;

/** Maximum step of the exponential backoff, in milliseconds. */
export const BACKOFF_MS_MAX = 5_000;

/**
 * Delay after attempt number `attempts` (from 1), in milliseconds: full jitter over 100 ms ·
 * 2^(attempts − 1), at most 5 s, plus the delay requested by the answer. Jitter prevents
 * synchronized retries.
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
 * Fits a delay into the deadline. Shortens the delay to half of the remaining time, so that
 * attempts continue until the deadline, but not below the delay that the answer requested.
 * Undefined if no further attempt fits.
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

/** Whether a call may be retried after this failure. */
export function mayRepeat({ error }: Failure, repeatable: Repeatable): boolean {
  if (!isPassing(error)) return false;
  return repeatable !== 'if_nothing_happened' || isCertain(error);
}

/** Statuses that may be temporary, from the service or a proxy. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 500, 502, 503, 504]);

/** Whether a retry may have another result. */
function isPassing(error: Failure['error']): boolean {
  if (error instanceof ConnectionError) return true;
  if (error instanceof MalformedAnswerError) return PASSING_STATUSES.has(error.status);
  if (error.code === 'rate_limited') return true;
  return error.code !== 'billing_provider_not_configured' && PASSING_STATUSES.has(error.status);
}

/**
 * Whether a failed attempt certainly changed nothing: no connection was made, or the answer was a
 * 429 or a 503 whose reason excludes a change.
 */
function isCertain(error: Failure['error']): boolean {
  if (error.mayHaveHappened) return false;
  if (error instanceof ConnectionError) return true;
  return error instanceof ApiError && (error.status === 429 || error.status === 503);
}
