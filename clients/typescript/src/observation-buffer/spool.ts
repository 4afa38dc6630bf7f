import { IdentityEngineError } from '../errors.ts';
import type { BatchObservation } from '../models.ts';
import type { TimestampFrom } from './batch.ts';

/** An observation in a spool. */
export type SpoolEntry = {
  readonly instanceId: string;
  /** The sent observation, with `timestamp` and `idempotency_key`. */
  readonly observation: BatchObservation & { readonly idempotency_key: string };
  /** Origin of the timestamp. */
  readonly timestampFrom: TimestampFrom;
  /** Time when added, in Unix milliseconds. */
  readonly addedAtMs: number;
};

/**
 * Durable store of a buffer: `FileSpool`, or a store of the caller. Instance and `idempotency_key`
 * identify an entry. One buffer uses a spool at a time.
 */
export interface Spool {
  /** All unfinished entries in the order of `add`. Called once, before all other methods. */
  load(): Promise<readonly SpoolEntry[]>;
  /**
   * Adds entries, or replaces entries with the same instance and key. Resolves when the entries are
   * durable. The buffer may call `add` again before an earlier call has resolved; entries keep the
   * order of the calls. After a rejection, a later `load` must not return any of the entries.
   */
  add(entries: readonly SpoolEntry[]): Promise<void>;
  /**
   * Marks entries as done. The marks need not be durable: the service does not apply an observation
   * again that is sent again with the same key.
   */
  done(instanceId: string, keys: readonly string[]): Promise<void>;
  /** Closes the spool. */
  close(): Promise<void>;
}

/**
 * A spool cannot be read or written; see `cause`. If `add` throws this error, the observation was
 * not added.
 */
export class SpoolError extends IdentityEngineError {}
