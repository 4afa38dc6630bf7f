import { ApiError, ConnectionError, DeadlineError, MalformedAnswerError } from '../errors.ts';
import type { BatchProcessed } from '../models.ts';
import type { ProcessResult } from '../result.ts';
import { INTERVAL_MS } from './spacing.ts';

type Processed = ProcessResult<BatchProcessed>;

/** What one sending of a batch came to. */
export type Outcome =
  | { readonly kind: 'acknowledged'; readonly result: Processed; readonly replayed: number }
  /** Nothing changed: the first of the observations that the service did not have already came too early. */
  | {
      readonly kind: 'throttled';
      readonly retryAfterMs: number;
      /** Places of the observations that the service had already. */
      readonly replayed: ReadonlySet<number>;
      /** Undefined where the call asked for an error instead. */
      readonly result: Processed | undefined;
    }
  /** Nothing changed: one observation breaks a rule. */
  | { readonly kind: 'one_rejected'; readonly index: number; readonly error: ApiError }
  /** Nothing changed: the batch is refused, for one or more of its observations that are not named. */
  | { readonly kind: 'refused'; readonly error: ApiError }
  /** Refused for something else than its body, which says nothing of the attempts before. */
  | { readonly kind: 'left'; readonly error: ApiError }
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

/** What a result of a batch of `count` observations means. */
export function outcomeOfResult(result: ProcessResult<BatchProcessed>, count: number): Outcome {
  const replayed = replayedIn(result.data);
  if (result.throttled === undefined) {
    const isWhole = result.data.processed_count + replayed.size === count;
    if (!isWhole) return again(undefined, true, false);
    return { kind: 'acknowledged', result, replayed: replayed.size };
  }
  return { kind: 'throttled', retryAfterMs: result.throttled.retryAfterMs, replayed, result };
}

/** Places of the items of a batch that the service had already. */
function replayedIn({ results = [] }: BatchProcessed): Set<number> {
  const replayed = results.filter(({ status }) => status === 'replayed');
  return new Set(replayed.map(({ index }) => index));
}

/** What an error of a batch of `count` observations means; `isOpen`: whether an attempt before may have counted. */
export function outcomeOfError(error: unknown, count: number, isOpen: boolean): Outcome {
  // The last refusal of a call that ran out of time says whether all calls of the account meet the same.
  const isLate = error instanceof DeadlineError && error.cause instanceof ApiError;
  const refusal = isLate ? error.cause : error;
  if (!(refusal instanceof ApiError)) return again(undefined, mayHaveHappenedIn(error), false);
  const { code, status, retryAfterS } = refusal;
  const mayHaveHappened = mayHaveHappenedIn(error);
  const retryAfterMs = retryAfterS === undefined ? undefined : retryAfterS * 1_000;
  if (code === 'throttled') {
    const asked = { retryAfterMs: retryAfterMs ?? INTERVAL_MS, replayed: new Set<number>() };
    return { kind: 'throttled', ...asked, result: undefined };
  }
  if (status === 429) {
    return again(Math.min(retryAfterMs ?? 0, ACCOUNT_WAIT_MS_MAX), mayHaveHappened, true);
  }
  if (status === 408 || status >= 500) return again(retryAfterMs, mayHaveHappened, false);
  // Clocks differ: what is too far ahead for the service is not when it is sent again later.
  // A node of a release before 1.1: an upgrade is under way.
  const isOfBefore = refusal.reason === 'unknown_field' && KEY_FIELD.test(refusal.field ?? '');
  if (isOfBefore) return again(FUTURE_MS, mayHaveHappened, false);
  if (refusal.reason === 'timestamp_in_future') return again(FUTURE_MS, mayHaveHappened, false);
  return outcomeOfRefusal(refusal, count, isOpen || mayHaveHappened);
}

function outcomeOfRefusal(error: ApiError, count: number, isOpen: boolean): Outcome {
  const { status, reason = '', field = '' } = error;
  if (status === 401 || status === 403) return { kind: 'stopped', error };
  const index = Number(/^observations\[(\d+)\]/.exec(field)?.[1] ?? Number.NaN);
  const isReused = reason === 'idempotency_key_reused';
  if (isReused && (isOpen || !(index < count))) return { kind: 'left', error };
  if (isOpen && !REASONS_OF_BODY.has(reason)) return { kind: 'left', error };
  if (status === 404 || status === 409) return { kind: 'no_instance', error };
  return index < count ? { kind: 'one_rejected', index, error } : { kind: 'refused', error };
}

/**
 * Reasons of refusals that follow from the body alone (interface 7.1): the attempts before had the same body, so
 * none of them was carried out.
 */
const REASONS_OF_BODY: ReadonlySet<string> = new Set([
  ...['malformed_json', 'body_too_large', 'missing_field', 'unknown_field', 'wrong_type'],
  ...['out_of_range', 'unknown_value', 'too_short', 'too_long', 'too_deep', 'invalid_text'],
  ...['invalid_timestamp', 'timestamps_mixed', 'timestamp_order'],
]);

/**
 * How long to wait at most where the account has nothing left, in milliseconds: a month's quota asks for days,
 * and a larger plan may be bought before.
 */
const ACCOUNT_WAIT_MS_MAX = 60_000;

/** The key of an observation of a batch. */
const KEY_FIELD = /\.idempotency_key$/;

/** How long to wait where the service finds a timestamp too far ahead, in milliseconds. */
const FUTURE_MS = 5_000;

/** The outcome of a batch that could not be sent yet. */
export function notSent(mayHaveHappened: boolean): Outcome {
  return again(undefined, mayHaveHappened, false);
}

function again(
  retryAfterMs: number | undefined,
  mayHaveHappened: boolean,
  isOfAccount: boolean,
): Outcome {
  return { kind: 'again', retryAfterMs, mayHaveHappened, isOfAccount };
}

/** Whether an error leaves the outcome open; one that this package does not know does. */
function mayHaveHappenedIn(error: unknown): boolean {
  const isKnown =
    error instanceof ApiError ||
    error instanceof ConnectionError ||
    error instanceof DeadlineError ||
    error instanceof MalformedAnswerError;
  return isKnown ? error.mayHaveHappened : true;
}
