import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { Statement, Transaction } from '#storage/sqlite/database';

/** A transaction that waits, and who is answered. */
export type Waiting = {
  readonly transaction: Transaction;
  /** It is on disk, or, `false`, nothing of it was kept. */
  readonly written: (isKept: boolean) => void;
  readonly failed: (error: unknown) => void;
};

/**
 * Writes what waits: all of the journals' in one transaction of the file, so that one `fsync` makes all
 * of it durable (group commit), then one of the others, so that a checkpoint never holds the journals up
 * for longer than its own time.
 */
export class WriteQueue {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  #journal: Waiting[] = [];
  readonly #others: Waiting[] = [];

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  get isEmpty(): boolean {
    return this.#journal.length === 0 && this.#others.length === 0;
  }

  push(waiting: Waiting): void {
    if (waiting.transaction.lane === 'journal') this.#journal.push(waiting);
    else this.#others.push(waiting);
  }

  /** Writes the journals' part and one of the others, and answers each. */
  writeNext(): void {
    const journal = this.#journal;
    this.#journal = [];
    if (journal.length > 0) this.#commit(journal);
    const other = this.#others.shift();
    if (other !== undefined) this.#commit([other]);
  }

  #commit(together: readonly Waiting[]): void {
    try {
      const isKept = this.#transact(together);
      for (const { written } of together) written(isKept);
    } catch (error) {
      for (const { failed } of together) failed(error);
    }
  }

  /** Whether all of it was kept: a transaction that names how much must change stands alone. */
  #transact(together: readonly Waiting[]): boolean {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      for (const { transaction } of together) {
        if (!transaction.statements.every((statement) => this.#run(statement))) {
          this.#database.exec('ROLLBACK');
          return false;
        }
      }
      this.#database.exec('COMMIT');
      return true;
    } catch (error) {
      // A full disk may have rolled it back already.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  #run({ sql, values, changes }: Statement): boolean {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    const done = statement.run(...(values as readonly SQLInputValue[]));
    return changes === undefined || Number(done.changes) === changes;
  }
}
