import { IdentityEngineError } from '../errors.ts';
import type { BatchObservation } from '../models.ts';
import type { TimestampFrom } from './batch.ts';

/** An observation in a spool. */
export type SpoolEntry = {
  readonly instanceId: string;
  /** As it is sent, with `timestamp` and `idempotency_key`. */
  readonly observation: BatchObservation & { readonly idempotency_key: string };
  /** Who gave the timestamp. */
  readonly timestampFrom: TimestampFrom;
  /** When it was added, in Unix milliseconds. */
  readonly addedAtMs: number;
};

/**
 * Where a buffer keeps its observations: `FileSpool`, or a store of the caller. Entries are known by instance and
 * `idempotency_key`. One buffer uses a spool at a time.
 */
export interface Spool {
  /** All entries that are not done, in the order of `add`; called once, before anything else. */
  load(): Promise<readonly SpoolEntry[]>;
  /**
   * Adds entries, or replaces those with the same instance and key. Resolves when they are durable. The buffer
   * calls it again before an earlier call has resolved: order is that of the calls. When it rejects, none of the
   * entries may appear in a later `load`.
   */
  add(entries: readonly SpoolEntry[]): Promise<void>;
  /** Marks entries as done, which need not be durable: what is sent again under its key counts once. */
  done(instanceId: string, keys: readonly string[]): Promise<void>;
  /** Ends the use of the spool. */
  close(): Promise<void>;
}

/** A spool cannot be read or written; `cause` says why. An observation that was not added stays with the caller. */
export class SpoolError extends IdentityEngineError {}
