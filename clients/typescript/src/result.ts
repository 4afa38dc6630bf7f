import type { Limits } from './limits.ts';

/** What every answer says beside its data. */
export type AnswerFacts = {
  /** HTTP status of the answer. */
  readonly status: number;
  /** `X-Request-Id`: what support and logs call this request by. Undefined where a proxy left it out. */
  readonly requestId: string | undefined;
  /** What is left of the account's limits. Undefined where a proxy left the headers out. */
  readonly limits: Limits | undefined;
  /** Version of the instance after the call, for `ifMatch` and `ifNoneMatch`; undefined where there is none. */
  readonly etag: string | undefined;
  /** Whether this is the stored answer of an earlier call with the same idempotency key. */
  readonly isReplayed: boolean;
  /** How many requests the call took, the last one included; 1 without a retry. */
  readonly attempts: number;
};

/** The answer to a call that succeeded. */
export type Result<T> = AnswerFacts & {
  readonly data: T;
  /** True only for a `NotModified`. */
  readonly isNotModified: false;
};

/** The answer to a GET whose `ifNoneMatch` names the present version: 304, no data. */
export type NotModified = AnswerFacts & {
  readonly data: undefined;
  readonly isNotModified: true;
};

/** The answer to an observation or a batch. */
export type ProcessResult<T> = Result<T> & {
  /**
   * Set where the observation came less than 1.000 s after the previous one (interface 8.3): nothing changed,
   * nothing was charged, `data` is the present state, and the same call makes sense again after
   * `retryAfterMs` milliseconds. Undefined: it counted.
   */
  readonly throttled: { readonly retryAfterMs: number } | undefined;
};
