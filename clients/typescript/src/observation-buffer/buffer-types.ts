import type { ApiError } from '../errors.ts';
import type { BatchProcessed, Observation } from '../models.ts';
import type { ProcessResult } from '../result.ts';

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
  /** Called for each batch that is durable. What it throws is ignored. */
  readonly onAcknowledged?: ((acknowledged: AcknowledgedBatch) => void) | undefined;
};

/** An observation that the service will never take, and why. */
export type RejectedObservation = {
  readonly instanceId: string;
  /** As it was added. */
  readonly observation: Observation;
  readonly error: ApiError;
};

/** A batch that is durable. */
export type AcknowledgedBatch = {
  readonly instanceId: string;
  /** As they were sent, with their timestamps. */
  readonly observations: readonly Observation[];
  /** The state after them, with the contract. */
  readonly result: ProcessResult<BatchProcessed>;
};

/** What a buffer could not finish: plain data, which `restore` takes in this or another process. */
export type UnacknowledgedBatch = {
  readonly instanceId: string;
  /** The key that it was sent under, or is to be. */
  readonly idempotencyKey: string;
  /** As they were sent or are to be, with their timestamps. */
  readonly observations: readonly Observation[];
  /** Whether it may have been carried out: sent again with the same key, it counts once. */
  readonly mayHaveHappened: boolean;
  /** When it was first sent, in Unix milliseconds; `null`: never. The service keeps a key for 24 hours. */
  readonly sentAtMs: number | null;
};

/** What became of everything that was added. */
export type CloseResult = {
  /** Observations that are durable. */
  readonly acknowledged: number;
  /** Observations that the service will never take: the newest `pendingMax` of them. */
  readonly rejected: readonly RejectedObservation[];
  /** How many those are in all. */
  readonly rejectedCount: number;
  /** Everything else, the observations of an instance in their order. */
  readonly unacknowledged: readonly UnacknowledgedBatch[];
};
