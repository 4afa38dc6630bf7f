import { ApiError, DeadlineError, isFailedCall } from '../errors.ts';
import type { BatchProcessed } from '../models.ts';
import type { ProcessResult } from '../result.ts';
import { INTERVAL_MS } from './spacing.ts';

type Processed = ProcessResult<BatchProcessed>;

/** Outcome of one attempt to send a batch. */
export type Outcome =
  | { readonly kind: 'acknowledged'; readonly result: Processed; readonly replayed: number }
  /** Nothing changed: the first new observation came too early. */
  | {
      readonly kind: 'throttled';
      readonly retryAfterMs: number;
      /** Indexes of replayed observations. */
      readonly replayed: ReadonlySet<number>;
      /** Undefined if the call used `strict`. */
      readonly result: Processed | undefined;
    }
  /** Nothing changed: one observation is invalid. */
  | { readonly kind: 'one_rejected'; readonly index: number; readonly error: ApiError }
  /** Nothing changed: the batch is invalid, but the answer names no observation. */
  | { readonly kind: 'refused'; readonly error: ApiError }
  /** Refused for a reason outside the body; earlier attempts may have succeeded. */
  | { readonly kind: 'left'; readonly error: ApiError }
  /** The instance does not exist. */
  | { readonly kind: 'no_instance'; readonly error: ApiError }
  /** The API key is not valid for this call. */
  | { readonly kind: 'stopped'; readonly error: ApiError }
  /** Retry with the same key. `isOfAccount`: the failure affects all calls of the account. */
  | {
      readonly kind: 'again';
      readonly retryAfterMs: number | undefined;
      readonly mayHaveHappened: boolean;
      readonly isOfAccount: boolean;
    };

/** Interprets a result for `count` observations. */
export function outcomeOfResult(result: ProcessResult<BatchProcessed>, count: number): Outcome {
  const replayed = replayedIn(result.data);
  if (result.throttled === undefined) {
    const isWhole = result.data.processed_count + replayed.size === count;
    if (!isWhole) return again(undefined, true, false);
    return { kind: 'acknowledged', result, replayed: replayed.size };
  }
  return { kind: 'throttled', retryAfterMs: result.throttled.retryAfterMs, replayed, result };
}

/** Indexes of replayed items in a batch. */
function replayedIn({ results = [] }: BatchProcessed): Set<number> {
  const replayed = results.filter(({ status }) => status === 'replayed');
  return new Set(replayed.map(({ index }) => index));
}

/**
 * Interprets an error for `count` observations. `isOpen`: an earlier attempt may have taken effect.
 */
export function outcomeOfError(error: unknown, count: number, isOpen: boolean): Outcome {
  // The cause of a deadline error shows whether the whole account is affected.
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
  // `timestamp_in_future` is temporary, because clocks differ. `unknown_field` for a key means that
  // a node runs a release before 1.1, during an upgrade.
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
 * Refusal reasons that depend on the body alone (interface 7.1). Earlier attempts had the same
 * body, so none of these attempts took effect.
 */
const REASONS_OF_BODY: ReadonlySet<string> = new Set([
  ...['malformed_json', 'body_too_large', 'missing_field', 'unknown_field', 'wrong_type'],
  ...['out_of_range', 'unknown_value', 'too_short', 'too_long', 'too_deep', 'invalid_text'],
  ...['invalid_timestamp', 'timestamps_mixed', 'timestamp_order'],
]);

/**
 * Maximum wait for an exhausted account, in milliseconds. The answer requests a wait until the next
 * month, but the plan may be upgraded earlier.
 */
const ACCOUNT_WAIT_MS_MAX = 60_000;

/** Matches the path of an observation's key in `field`. */
const KEY_FIELD = /\.idempotency_key$/;

/** Wait after a refusal that is temporary despite its status, in milliseconds. */
const FUTURE_MS = 5_000;

/** Outcome of a batch that was not sent. */
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

/** Whether the outcome is unknown after an error; true for errors of other classes. */
function mayHaveHappenedIn(error: unknown): boolean {
  return isFailedCall(error) ? error.mayHaveHappened : true;
}
