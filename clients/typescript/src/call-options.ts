/** What every call takes beside its own arguments. */
export type CallOptions = {
  /** Ends the call: it rejects with the signal's reason. A request that was sent may have taken effect. */
  readonly signal?: AbortSignal | undefined;
  /** Deadline of the whole call with all its retries, in milliseconds, > 0; default that of the client. */
  readonly timeoutMs?: number | undefined;
  /** How many requests this call makes at most; an integer ≥ 1. Default that of the client. */
  readonly attemptsMax?: number | undefined;
  /** `X-Request-Id` of every attempt: 8 to 64 characters of `A-Z a-z 0-9 . _ -`. */
  readonly requestId?: string | undefined;
};

/** For POSTs that the service answers once for each key within 24 hours (interface 7.2). */
export type KeyedOptions = CallOptions & {
  /** 1 to 255 printable ASCII characters; default a new UUIDv7. Every retry sends the same one. */
  readonly idempotencyKey?: string | undefined;
};

/** For an observation or a batch. */
export type ProcessOptions = KeyedOptions & {
  /** Whether an observation that comes too early throws a `ThrottledError` instead of a `throttled` result. */
  readonly strict?: boolean | undefined;
};

/** For a GET that may be answered with "not modified". */
export type ConditionalOptions = CallOptions & {
  /** The `etag` of the version you have. */
  readonly ifNoneMatch: string;
};

/** For a change that is meant for one version of an instance (interface 7.3). */
export type GuardedOptions = CallOptions & {
  /** The `etag` of the version you mean; another one throws a `ConflictError`. Default: the last write wins. */
  readonly ifMatch?: string | undefined;
};

/** For a reset, which is keyed and guarded. */
export type ResetOptions = KeyedOptions & GuardedOptions;
