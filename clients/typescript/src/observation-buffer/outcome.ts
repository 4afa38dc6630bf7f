import { ApiError, ConnectionError, DeadlineError, MalformedAnswerError } from '../errors.ts';
import type { BatchProcessed } from '../models.ts';
import type { ProcessResult } from '../result.ts';
import { INTERVAL_MS } from './spacing.ts';

/** What one sending of a batch came to. */
export type Outcome =
  | { readonly kind: 'acknowledged'; readonly result: ProcessResult<BatchProcessed> }
  /** Nothing changed: the first observation came too early. */
  | { readonly kind: 'throttled'; readonly retryAfterMs: number }
  /** Nothing changed: one observation breaks a rule. */
  | { readonly kind: 'one_rejected'; readonly index: number; readonly error: ApiError }
  /** Nothing changed: the batch as a whole is refused. */
  | { readonly kind: 'all_rejected'; readonly error: ApiError }
  /** The instance is not there. */
  | { readonly kind: 'no_instance'; readonly error: ApiError }
  /** The key is not good for this, now or later. */
  | { readonly kind: 'stopped'; readonly error: ApiError }
  /** To be sent again under the same key. `isOfAccount`: all that is sent would meet the same. */
  | {
      readonly kind: 'again';
      readonly retryAfterMs: number | undefined;
      readonly mayHaveHappened: boolean;
      readonly isOfAccount: boolean;
    };

/** What a result of a batch means. */
export function outcomeOfResult(result: ProcessResult<BatchProcessed>): Outcome {
  if (result.throttled === undefined) return { kind: 'acknowledged', result };
  return { kind: 'throttled', retryAfterMs: result.throttled.retryAfterMs };
}

/** What an error of a batch of `count` observations means. */
export function outcomeOfError(error: unknown, count: number): Outcome {
  if (!(error instanceof ApiError)) return again(undefined, mayHaveHappenedIn(error), false);
  const { code, status, retryAfterS, mayHaveHappened } = error;
  const retryAfterMs = retryAfterS === undefined ? undefined : retryAfterS * 1_000;
  if (code === 'throttled') return { kind: 'throttled', retryAfterMs: retryAfterMs ?? INTERVAL_MS };
  if (status === 429) {
    const askedMs = Math.min(retryAfterMs ?? 0, ACCOUNT_WAIT_MS_MAX);
    return again(askedMs, mayHaveHappened, true);
  }
  if (status === 408 || status >= 500) return again(retryAfterMs, mayHaveHappened, false);
  // Clocks differ: what is too far ahead for the service is not when it is sent again later.
  if (error.reason === 'timestamp_in_future') return again(FUTURE_MS, mayHaveHappened, false);
  return outcomeOfRefusal(error, count);
}

function outcomeOfRefusal(error: ApiError, count: number): Outcome {
  const { status, field = '' } = error;
  if (status === 401 || status === 403) return { kind: 'stopped', error };
  if (status === 404 || status === 409) return { kind: 'no_instance', error };
  const index = Number(/^observations\[(\d+)\]/.exec(field)?.[1] ?? Number.NaN);
  return index < count ? { kind: 'one_rejected', index, error } : { kind: 'all_rejected', error };
}

/**
 * How long to wait at most where the account has nothing left, in milliseconds: a month's quota asks for days,
 * and a larger plan may be bought before.
 */
const ACCOUNT_WAIT_MS_MAX = 60_000;

/** How long to wait where the service finds a timestamp too far ahead, in milliseconds. */
const FUTURE_MS = 5_000;

function again(
  retryAfterMs: number | undefined,
  mayHaveHappened: boolean,
  isOfAccount: boolean,
): Outcome {
  return { kind: 'again', retryAfterMs, mayHaveHappened, isOfAccount };
}

/** Whether an error that is no refusal leaves the outcome open; one that this package does not know does. */
function mayHaveHappenedIn(error: unknown): boolean {
  const isKnown =
    error instanceof ConnectionError ||
    error instanceof DeadlineError ||
    error instanceof MalformedAnswerError;
  return isKnown ? error.mayHaveHappened : true;
}
