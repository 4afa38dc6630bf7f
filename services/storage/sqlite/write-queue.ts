import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { SqlValue, Transaction } from '#storage/sqlite/database';
import type { FilePlace } from '#storage/sqlite/file-place';
import { PreparedStatements } from '#storage/sqlite/prepared-statements';
import { RESULT, resultCodeOf } from '#storage/sqlite/result-code';
import { bytesOf } from '#storage/sqlite/thread-messages';

/** A transaction that waits, and who is answered. */
export type Waiting = {
  readonly transaction: Transaction;
  /** It is on disk, or, `false`, nothing of it was kept. */
  readonly written: (isKept: boolean) => void;
  /** With whether it may be on disk all the same. */
  readonly failed: (error: unknown, isOutcomeUnknown: boolean) => void;
};

/** Bytes of transactions that go together besides the journals': a few milliseconds of work. Chosen. */
const OTHERS_BYTES_MAX = 256 * 1_024;

/** What became of one transaction among those that went together. */
type Outcome =
  | { readonly isKept: boolean }
  | { readonly error: unknown; readonly isOutcomeUnknown: boolean };

/**
 * Writes what waits, many transactions in one of the file, so that one `fsync` makes all of them durable
 * (group commit): first those of the journals, then others, of which no more than what takes a
 * few milliseconds, for which the journals wait. Each stands or falls by itself, as long as the file can
 * be written.
 */
export class WriteQueue {
  readonly #database: DatabaseSync;
  readonly #statements: PreparedStatements;
  readonly #place: FilePlace | undefined;
  #journal: Waiting[] = [];
  readonly #others: Waiting[] = [];

  /** `place`: where the file must lie for a transaction to be answered; undefined: anywhere. */
  constructor(database: DatabaseSync, place?: FilePlace) {
    this.#database = database;
    this.#place = place;
    this.#statements = new PreparedStatements(database);
  }

  get isEmpty(): boolean {
    return this.#journal.length === 0 && this.#others.length === 0;
  }

  push(waiting: Waiting): void {
    if (waiting.transaction.lane === 'journal') this.#journal.push(waiting);
    else this.#others.push(waiting);
  }

  /** Writes the journals' part and some of the others, and answers each. */
  writeNext(): void {
    const journal = this.#journal;
    this.#journal = [];
    this.#commit(journal);
    this.#commit(this.#takeOthers());
  }

  #takeOthers(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const { transaction } of this.#others) {
      for (const { values } of transaction.statements) bytes += bytesOf(values);
      if (count > 0 && bytes > OTHERS_BYTES_MAX) break;
      count += 1;
    }
    return this.#others.splice(0, count);
  }

  #commit(together: readonly Waiting[]): void {
    if (together.length === 0) return;
    const outcomes = this.#transact(together);
    for (const [index, { written, failed }] of together.entries()) {
      const outcome = outcomes[index];
      if (outcome !== undefined && 'isKept' in outcome) written(outcome.isKept);
      else failed(outcome?.error, outcome?.isOutcomeUnknown ?? true);
    }
  }

  #transact(together: readonly Waiting[]): readonly Outcome[] {
    // A commit whose `fsync` fails may be found again after a crash.
    let isOutcomeUnknown = false;
    try {
      if (this.#place?.isAway) this.#place.assertHere();
      this.#run('BEGIN IMMEDIATE');
      const outcomes = together.map(({ transaction }) => this.#attempt(transaction));
      isOutcomeUnknown = true;
      this.#run('COMMIT');
      // Once for a group, and two calls of the system beside its `fsync`.
      this.#place?.assertHere();
      return outcomes;
    } catch (error) {
      // A full disk may have rolled it back already.
      if (this.#database.isTransaction) this.#run('ROLLBACK');
      return together.map(() => ({ error, isOutcomeUnknown }));
    }
  }

  /** Runs one transaction. Throws where the whole is lost, because the file cannot be written. */
  #attempt({ statements }: Transaction): Outcome {
    this.#run('SAVEPOINT one');
    try {
      const isKept = statements.every(
        ({ sql, values, changes }) => this.#run(sql, values) === changes || changes === undefined,
      );
      if (!isKept) this.#run('ROLLBACK TO one');
      this.#run('RELEASE one');
      return { isKept };
    } catch (error) {
      if (!this.#database.isTransaction || !OF_STATEMENT.includes(resultCodeOf(error))) throw error;
      this.#run('ROLLBACK TO one');
      this.#run('RELEASE one');
      return { error, isOutcomeUnknown: false };
    }
  }

  /** Rows that a statement changes. */
  #run(sql: string, values: readonly SqlValue[] = []): number {
    const statement = this.#statements.of(sql);
    return Number(statement.run(...(values as readonly SQLInputValue[])).changes);
  }
}

/** What a statement is to blame for, and not the file. */
const OF_STATEMENT: readonly (number | undefined)[] = [
  undefined,
  ...[RESULT.error, RESULT.tooBig, RESULT.constraint, RESULT.mismatch, RESULT.range],
];
