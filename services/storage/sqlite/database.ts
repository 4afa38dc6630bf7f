/** Device and inode of an open file and of its WAL, as text. */
export type FileIdentity = { readonly file: string; readonly wal: string };

/** A value of a column. Whole numbers are safe integers. */
export type SqlValue = null | number | string | Uint8Array;

/** A row of an answer: its columns in the order in which the query names them. */
export type Row = readonly SqlValue[];

/** One statement of a transaction. */
export type Statement = {
  readonly sql: string;
  readonly values: readonly SqlValue[];
  /** Rows that must change, or nothing of the transaction is kept; absent: however many. */
  readonly changes?: number;
};

/** What is read, and how metrics name it. `isLong`: it looks at many rows, and others must not wait for it. */
export type Query = Pick<Statement, 'sql' | 'values'> & {
  readonly operation: string;
  readonly isLong?: boolean;
};

/**
 * What is written, and how metrics name it. `journal`: callers wait for it, so it goes first, together
 * with all of its kind that wait.
 */
export type Transaction = {
  readonly operation: string;
  readonly statements: readonly Statement[];
  readonly lane?: 'journal';
};

/**
 * One SQLite file, as its stores use it. Methods reject with `service_unavailable` while the file
 * cannot be read or written, a full disk included; with `isOutcomeUnknown` a write may have happened or
 * may yet happen. They reject with `internal` when SQLite refuses for good or the file is damaged.
 */
export interface SqliteDatabase {
  /** The rows of a query; every write that was answered before is seen. */
  read(query: Query): Promise<readonly Row[]>;
  /**
   * Runs the statements as one transaction, which is on disk when the promise fulfils. False: one of
   * them changed another number of rows than it must, and nothing was written.
   */
  write(transaction: Transaction): Promise<boolean>;
}

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
