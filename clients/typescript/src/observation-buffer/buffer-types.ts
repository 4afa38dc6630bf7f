import type { ApiError } from '../errors.ts';
import type { BatchObservation, BatchProcessed } from '../models.ts';
import type { ProcessResult } from '../result.ts';
import type { TimestampFrom } from './batch.ts';
import type { Spool } from './spool.ts';

/** How a buffer collects and sends. */
export type BufferOptions = {
  /** Observations of one batch at most, 1 to 100; default 100. */
  readonly batchMax?: number | undefined;
  /** How long an observation waits for others of its instance, in milliseconds, ≥ 0; default 50. */
  readonly delayMaxMs?: number | undefined;
  /** Observations in the buffer at most, ≥ 1; default 10,000. `add` waits while it is full. */
  readonly pendingMax?: number | undefined;
  /** Instances that are sent to at the same time at most, ≥ 1; default 64. */
  readonly instancesAtOnce?: number | undefined;
  /** Called for each observation that the service will never take. What it throws is ignored. */
  readonly onRejected?: ((rejected: RejectedObservation) => void) | undefined;
  /** Called for each observation that came too early for its instance. What it throws is ignored. */
  readonly onThrottled?: ((throttled: ThrottledObservation) => void) | undefined;
  /** Called for each batch that is durable. What it throws is ignored. */
  readonly onAcknowledged?: ((acknowledged: AcknowledgedBatch) => void) | undefined;
  /**
   * Keeps every observation until it is done with, so that a new process goes on after a crash of this one.
   * Without a spool, what the buffer holds when its process is killed is lost.
   */
  readonly spool?: Spool | undefined;
};

/**
 * An observation whose timestamp, given by the caller, is less than 1.000 s after the newest one of the instance:
 * nothing changed. The buffer does not move such a timestamp.
 */
export type ThrottledObservation = {
  readonly instanceId: string;
  /** As it was added, with its key. */
  readonly observation: BatchObservation;
  /** By how much later a timestamp would have counted, in milliseconds; rounded up to seconds. */
  readonly retryAfterMs: number;
};

/** An observation that the service will never take, and why. */
export type RejectedObservation = {
  readonly instanceId: string;
  /** As it was added. */
  readonly observation: BatchObservation;
  readonly error: ApiError;
};

/** A batch that is durable. */
export type AcknowledgedBatch = {
  readonly instanceId: string;
  /** As they were sent, with their timestamps and keys. */
  readonly observations: readonly BatchObservation[];
  /** How many of them the service had already, under their keys: they count once. */
  readonly replayed: number;
  /** The state after them, with the contract. */
  readonly result: ProcessResult<BatchProcessed>;
};

/** What a buffer could not finish: plain data, which `restore` takes in this or another process. */
export type UnacknowledgedBatch = {
  readonly instanceId: string;
  /** The key that it was sent under, or is to be. */
  readonly idempotencyKey: string;
  /** As they were sent or are to be, with their timestamps. */
  readonly observations: readonly BatchObservation[];
  /** Whether it may have been carried out: sent again with the same key, it counts once. */
  readonly mayHaveHappened: boolean;
  /** When it was first sent, in Unix milliseconds; `null`: never. The service keeps a key for 24 hours. */
  readonly sentAtMs: number | null;
  /** Who gave each timestamp: `restore` moves none that the caller gave. Left out: the caller. */
  readonly timestampsFrom?: readonly TimestampFrom[] | undefined;
};

/** What became of everything that was added. */
export type CloseResult = {
  /** Observations that are durable. */
  readonly acknowledged: number;
  /** How many of those the service had already, under their keys. */
  readonly replayed: number;
  /** Observations that came too early by the caller's own timestamp: the newest `pendingMax` of them. */
  readonly throttled: readonly ThrottledObservation[];
  /** How many those are in all. */
  readonly throttledCount: number;
  /** Observations that the service will never take: the newest `pendingMax` of them. */
  readonly rejected: readonly RejectedObservation[];
  /** How many those are in all. */
  readonly rejectedCount: number;
  /** Everything else, the observations of an instance in their order. */
  readonly unacknowledged: readonly UnacknowledgedBatch[];
};
