import type { ApiError } from '../errors.ts';
import type { BatchObservation, BatchProcessed } from '../models.ts';
import type { ProcessResult } from '../result.ts';
import type { TimestampFrom } from './batch.ts';
import type { Spool } from './spool.ts';

/** Buffer options. */
export type BufferOptions = {
  /** Maximum observations per batch, 1 to 100; default 100. */
  readonly batchMax?: number | undefined;
  /** Maximum wait for more observations of an instance, in milliseconds, ≥ 0; default 50. */
  readonly delayMaxMs?: number | undefined;
  /**
   * Maximum observations in the buffer, ≥ 1; default 10,000. `add` waits while the buffer is full.
   */
  readonly pendingMax?: number | undefined;
  /** Maximum instances with a batch in flight, ≥ 1; default 64. */
  readonly instancesAtOnce?: number | undefined;
  /**
   * Whether batches of at most 4 observations of several instances may share a fleet call, which
   * costs fewer requests. Default: true.
   */
  readonly fleetCalls?: boolean | undefined;
  /** Called for each permanently rejected observation. Exceptions are ignored. */
  readonly onRejected?: ((rejected: RejectedObservation) => void) | undefined;
  /** Called for each throttled observation. Exceptions are ignored. */
  readonly onThrottled?: ((throttled: ThrottledObservation) => void) | undefined;
  /** Called for each durable batch. Exceptions are ignored. */
  readonly onAcknowledged?: ((acknowledged: AcknowledgedBatch) => void) | undefined;
  /**
   * Stores every observation until it is finished, so that a new process can continue after a
   * crash. Without a spool, a killed process loses the observations in the buffer.
   */
  readonly spool?: Spool | undefined;
};

/**
 * An observation that the service throttled: the caller set a timestamp less than 1.000 s after the
 * instance's newest observation. Nothing changed. The buffer does not move a timestamp of the
 * caller.
 */
export type ThrottledObservation = {
  readonly instanceId: string;
  /** The added observation, with its key. */
  readonly observation: BatchObservation;
  /** Delay with which the batch's first new timestamp would be accepted, in milliseconds. */
  readonly retryAfterMs: number;
};

/** A permanently rejected observation with its error. */
export type RejectedObservation = {
  readonly instanceId: string;
  /** The added observation. */
  readonly observation: BatchObservation;
  readonly error: ApiError;
};

/** A batch that is durable. */
export type AcknowledgedBatch = {
  readonly instanceId: string;
  /** Sent observations, with timestamps and keys. */
  readonly observations: readonly BatchObservation[];
  /** Number of observations that an earlier call had already applied under the same keys. */
  readonly replayed: number;
  /** State after the batch, with the contract. */
  readonly result: ProcessResult<BatchProcessed>;
};

/** A batch that was not acknowledged, as plain data. Any process can pass the data to `restore`. */
export type UnacknowledgedBatch = {
  readonly instanceId: string;
  /** Idempotency key of the batch. */
  readonly idempotencyKey: string;
  /** Observations to send, with timestamps. */
  readonly observations: readonly BatchObservation[];
  /** Whether the batch may have been applied. A retry with the same key is not applied twice. */
  readonly mayHaveHappened: boolean;
  /**
   * Time of the first attempt in Unix milliseconds; `null` if never sent. The service keeps a key
   * for 24 hours.
   */
  readonly sentAtMs: number | null;
  /** Origin of each timestamp; default the caller, whose timestamps `restore` never moves. */
  readonly timestampsFrom?: readonly TimestampFrom[] | undefined;
};

/** Outcome of all added observations. */
export type CloseResult = {
  /** Number of durable observations. */
  readonly acknowledged: number;
  /** Number of durable observations that an earlier call had already applied. */
  readonly replayed: number;
  /** Throttled observations: the newest `pendingMax`. */
  readonly throttled: readonly ThrottledObservation[];
  /** Number of throttled observations. */
  readonly throttledCount: number;
  /** Rejected observations: the newest `pendingMax`. */
  readonly rejected: readonly RejectedObservation[];
  /** Number of rejected observations. */
  readonly rejectedCount: number;
  /** All other observations, in order per instance. */
  readonly unacknowledged: readonly UnacknowledgedBatch[];
};
