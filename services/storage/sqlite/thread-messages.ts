import type { Query, Row, SqlValue, Transaction } from '#storage/sqlite/database';
import type { FileIdentity } from '#storage/sqlite/file-place';

/**
 * What a thread is started with. `opened`: identity of the file of the process that serves it. `closes`:
 * this thread closes last, and leaves a file that is not marked as open if nothing else serves it.
 */
export type ThreadData = {
  readonly file: string;
  readonly opened?: FileIdentity | undefined;
  readonly closes?: 'served' | 'tool' | undefined;
};

/** What a thread is asked. */
export type ThreadWork =
  | { readonly kind: 'read'; readonly query: Query }
  | { readonly kind: 'write'; readonly transaction: Transaction }
  | { readonly kind: 'close' };

/** The same with a number that its answer has again. */
export type ThreadRequest = ThreadWork & { readonly id: number };

/** What SQLite said of a failure. */
export type ThreadFailure = {
  readonly message: string;
  /** Primary result code of SQLite (`result-code`); undefined: the error is not SQLite's. */
  readonly code: number | undefined;
  /** Whether it may have been written all the same: its commit failed. */
  readonly isOutcomeUnknown: boolean;
};

/** The answer to a request. */
export type ThreadAnswer = { readonly id: number } & (
  | { readonly kind: 'rows'; readonly rows: readonly Row[] }
  | { readonly kind: 'written'; readonly isKept: boolean }
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly failure: ThreadFailure }
);

/** Bytes that values take in memory, roughly; for bounds. */
export function bytesOf(values: readonly SqlValue[]): number {
  let bytes = 0;
  for (const value of values) {
    bytes += typeof value === 'number' || value === null ? 8 : value.length;
  }
  return bytes;
}
