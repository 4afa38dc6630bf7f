import type { IdentityEngineError } from '../errors.ts';

/** Event of `onAttempt`: one request and its answer. */
export type AttemptEvent = {
  readonly method: string;
  /** Path below `/v1`, without the query. */
  readonly path: string;
  /** Attempt number within its call, from 1. */
  readonly attempt: number;
  /** HTTP status; undefined without an answer. */
  readonly status: number | undefined;
  /** Time from sending the request to the last byte of the answer, in milliseconds. */
  readonly durationMs: number;
  readonly requestId: string | undefined;
  /** Delay before the next attempt, in milliseconds; undefined if this attempt is the last. */
  readonly retryInMs: number | undefined;
  /** Error of the attempt; undefined after a success. */
  readonly error: IdentityEngineError | undefined;
};
