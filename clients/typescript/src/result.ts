import type { Limits } from './calls/limits.ts';

/** Facts about an answer, besides its data. */
export type AnswerFacts = {
  /** HTTP status. */
  readonly status: number;
  /** `X-Request-Id`, for support and logs. Undefined if a proxy removed it. */
  readonly requestId: string | undefined;
  /** All headers of the answer. */
  readonly headers: Headers;
  /** Remaining account limits. Undefined if a proxy removed the headers. */
  readonly limits: Limits | undefined;
  /**
   * Version of the instance after the call, for `ifMatch` and `ifNoneMatch`; undefined without a
   * version.
   */
  readonly etag: string | undefined;
  /** Whether the service replayed the answer of an earlier call with the same idempotency key. */
  readonly isReplayed: boolean;
  /** Number of requests sent; 1 without a retry. */
  readonly attempts: number;
};

/** A successful answer. */
export type Result<T> = AnswerFacts & {
  readonly data: T;
  /** True only for a `NotModified`. */
  readonly isNotModified: false;
};

/** Answer 304 to a GET whose `ifNoneMatch` is the current version; without data. */
export type NotModified = AnswerFacts & {
  readonly data: undefined;
  readonly isNotModified: true;
};

/** Answer to an observation or a batch. */
export type ProcessResult<T> = Result<T> & {
  /**
   * Set if the observation came less than 1.000 s after the previous observation (interface 8.3).
   * Nothing changed or was charged, and `data` is the current state. Retry after `retryAfterMs`
   * milliseconds. Undefined if the observation was applied.
   */
  readonly throttled: { readonly retryAfterMs: number } | undefined;
};
