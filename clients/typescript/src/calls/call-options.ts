import type { ExtraHeaders } from './request-headers.ts';

/** Options for every call. */
export type CallOptions = {
  /**
   * Cancels the call, which then rejects with the signal's reason. A sent request may have taken
   * effect.
   */
  readonly signal?: AbortSignal | undefined;
  /** Deadline of the call including retries, in milliseconds, > 0. Default: the client's option. */
  readonly timeoutMs?: number | undefined;
  /** Maximum requests of this call; an integer ≥ 1. Default: the client's option. */
  readonly attemptsMax?: number | undefined;
  /** `X-Request-Id` of every attempt: 8 to 64 characters of `A-Z a-z 0-9 . _ -`. */
  readonly requestId?: string | undefined;
  /**
   * Extra headers of every attempt, besides those of the client's option; values are printable
   * ASCII. Headers that have an option, such as `Idempotency-Key`, are refused.
   */
  readonly headers?: ExtraHeaders | undefined;
};

/** Options for POSTs with an idempotency key, which is valid for 24 hours (interface 7.2). */
export type KeyedOptions = CallOptions & {
  /** 1 to 255 printable ASCII characters; default a new UUIDv7. Retries send the same key. */
  readonly idempotencyKey?: string | undefined;
};

/** Options for an observation or a batch. */
export type ProcessOptions = KeyedOptions & {
  /**
   * Whether an early observation throws a `ThrottledError` instead of returning a `throttled`
   * result.
   */
  readonly strict?: boolean | undefined;
};

/** Options for a conditional GET, which may return "not modified". */
export type ConditionalOptions = CallOptions & {
  /** The `etag` of the caller's version. */
  readonly ifNoneMatch: string;
};

/** Options for a conditional change, which applies to one instance version (interface 7.3). */
export type GuardedOptions = CallOptions & {
  /**
   * The expected `etag`; any other version throws a `ConflictError`. Default: the last write wins.
   */
  readonly ifMatch?: string | undefined;
};

/** Reset options, with idempotency key and condition. */
export type ResetOptions = KeyedOptions & GuardedOptions;
