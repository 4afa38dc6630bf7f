import type { SentObservation } from '#bench/references/identity';
import { type EngineAnswer, plainAnswer } from '#grpc/engine-messages';

/** Lifetime of a stored answer in hours. Source: decision 22. */
export const ANSWER_HOURS = 24;

/** An `Idempotency-Key`, and the digest of the request that came with the key. */
export type Idempotency = { readonly key: string; readonly fingerprint: string };

/** A request to observe an instance. */
export type ObservationCall = {
  readonly id: string;
  readonly accountId: string;
  readonly observation: SentObservation;
  /** Undefined for a call without `Idempotency-Key`. */
  readonly idempotency: Idempotency | undefined;
};

/**
 * Reasons for no cycle. `unknown`: the instance does not exist. `early`: the interval rule
 * throttles the observation. `reused`: the key belongs to another request.
 */
export type Refusal = 'unknown' | 'early' | 'reused';

/** Write strategy of a reference with a database. */
export interface ObservationStore {
  /**
   * Resolves when the cycle is on disk. A key of the last 24 h repeats the stored answer and writes
   * nothing.
   */
  process(call: ObservationCall): Promise<EngineAnswer | Refusal>;
  /** A page of instances with their number of stored history rows, in the order of ids. */
  list(limit: number, offset: number): Promise<readonly CycleRow[]>;
}

/** An instance and its number of stored history rows. */
export type CycleRow = { readonly id: string; readonly cycle_count: number };

/** A stored answer, and the digest of its request. */
export type StoredAnswer = Pick<Idempotency, 'fingerprint'> & {
  readonly body: string;
  readonly etag: string;
};

/** Repeats a stored answer if the key came with the same request. */
export function replayOf(
  { body, etag, fingerprint }: StoredAnswer,
  idempotency: Idempotency,
): EngineAnswer | 'reused' {
  if (fingerprint !== idempotency.fingerprint) return 'reused';
  return { ...plainAnswer(body, etag), isReplayed: true };
}
