import type { IdentityEngineError } from './errors.ts';

/** What `onAttempt` hears of one request and its answer. */
export type AttemptEvent = {
  readonly method: string;
  /** Path below `/v1`, without the query. */
  readonly path: string;
  /** Ordinal of the attempt within its call, from 1. */
  readonly attempt: number;
  /** HTTP status; undefined without an answer. */
  readonly status: number | undefined;
  /** From sending to the last byte of the body, in milliseconds. */
  readonly durationMs: number;
  readonly requestId: string | undefined;
  /** How long the call waits before its next attempt, in milliseconds; undefined where there is none. */
  readonly retryInMs: number | undefined;
  /** What the attempt failed with; undefined for a success. */
  readonly error: IdentityEngineError | undefined;
};
