/** Device and inode of an open file and its WAL, as text. */
export type FileIdentity = { readonly file: string; readonly wal: string };

/** A value of a column. Whole numbers are safe integers. */
export type SqlValue = null | number | string | Uint8Array;

/** A row of a result, with its columns in the order of the query. */
export type Row = readonly SqlValue[];

/** One statement of a transaction. */
export type Statement = {
  readonly sql: string;
  readonly values: readonly SqlValue[];
  /**
   * Number of rows that must change. Otherwise the transaction is rolled back. Absent: any number.
   */
  readonly changes?: number;
};

/**
 * Query with its name in metrics. `isLong`: the query scans many rows and runs in a separate
 * thread.
 */
export type Query = Pick<Statement, 'sql' | 'values'> & {
  readonly operation: string;
  readonly isLong?: boolean;
};

/**
 * Write transaction with its name in metrics. `journal`: callers wait for the append, so all
 * waiting journal transactions are committed first, as one group.
 */
export type Transaction = {
  readonly operation: string;
  readonly statements: readonly Statement[];
  readonly lane?: 'journal';
};

/**
 * Interface of an SQLite file for its stores. Methods reject with `service_unavailable` while the
 * file cannot be read or written, for example if the disk is full. `isOutcomeUnknown`: the write
 * may have happened or may still happen. Methods reject with `internal` if SQLite refuses the
 * statement or the file is damaged.
 */
export interface SqliteDatabase {
  /** Rows of a query. A read sees every write that was answered before the read. */
  read(query: Query): Promise<readonly Row[]>;
  /**
   * Runs the statements as one transaction. The transaction is on disk when the promise fulfils.
   * Fulfils with false if a statement changed another number of rows than `changes`; nothing was
   * written then.
   */
  write(transaction: Transaction): Promise<boolean>;
}

/**
 * First message to a thread. `opened`: identity of the file that the serving process opened.
 * `closes`: set for the thread that closes last. If no other process serves the file, that thread
 * removes the open mark of the file.
 */
export type ThreadData = {
  readonly file: string;
  readonly opened?: FileIdentity | undefined;
  readonly closes?: 'served' | 'tool' | undefined;
};

/** A request to a thread. */
export type ThreadWork =
  | { readonly kind: 'read'; readonly query: Query }
  | { readonly kind: 'write'; readonly transaction: Transaction }
  /** Answered with a row for a damaged page (table, page number, type), or with no row. */
  | { readonly kind: 'check' }
  | { readonly kind: 'close' };

/** A request with an id, which the answer repeats. */
export type ThreadRequest = ThreadWork & { readonly id: number };

/** Failure of a request: the error message and SQLite's result code. */
export type ThreadFailure = {
  readonly message: string;
  /** Primary result code of SQLite (`failures.ts`); undefined if the error is not from SQLite. */
  readonly code: number | undefined;
  /** Whether the transaction may be on disk although its commit failed. */
  readonly isOutcomeUnknown: boolean;
};

/** Answer to the request with the same id. */
export type ThreadAnswer = { readonly id: number } & (
  | { readonly kind: 'rows'; readonly rows: readonly Row[] }
  | { readonly kind: 'written'; readonly isKept: boolean }
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly failure: ThreadFailure }
);

/** Approximate size of values in memory, in bytes; for limits. */
export function bytesOf(values: readonly SqlValue[]): number {
  let bytes = 0;
  for (const value of values) {
    bytes += typeof value === 'number' || value === null ? 8 : value.length;
  }
  return bytes;
}
