import { flushCompileCache } from 'node:module';
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type MessagePort, parentPort } from 'node:worker_threads';
import {
  bytesOf,
  type Row,
  type SqlValue,
  type ThreadAnswer,
  type ThreadData,
  type ThreadRequest,
  type Transaction,
} from '#storage/sqlite/database';
import { RESULT, resultCodeOf } from '#storage/sqlite/failures';
import { closeBeside } from '#storage/sqlite/file-lock';
import { FilePlace } from '#storage/sqlite/file-place';
import { markClosed } from '#storage/sqlite/schema';
import { openConnection } from '#storage/sqlite/tables';

/*
 * Code of a file thread. A call of SQLite blocks until the disk answers, so it must not run on the
 * event loop.
 */

/** Interval at which a reading thread checks the path of the file, in milliseconds. */
const LOOK_MS = 100;

/** Number of pages that a check reads before the thread serves other requests. */
const CHECKED_PAGES = 100;

/** All pages of the tables and indexes, with their types. Reads each page. */
const PAGES = 'SELECT name, pageno, pagetype FROM dbstat';

type Take = (request: ThreadRequest) => void;

/** Serves requests with one connection to the file. */
function serverOf(
  port: MessagePort,
  { file, closes }: ThreadData,
  place: FilePlace | undefined,
  database: DatabaseSync,
): Take {
  const queue = new WriteQueue(database, place);
  let lookedMs = Number.NEGATIVE_INFINITY;
  const assertHere = () => {
    // Two system calls per read would cost too much. Writes check the path after each commit.
    const nowMs = performance.now();
    if (place === undefined || (!place.isAway && nowMs - lookedMs < LOOK_MS)) return;
    place.assertHere();
    lookedMs = nowMs;
  };
  const statements = new PreparedStatements(database);
  let isScheduled = false;
  const answer = (message: ThreadAnswer) => port.postMessage(message);

  const drain = () => {
    isScheduled = false;
    queue.writeNext();
    if (!queue.isEmpty) schedule();
  };
  // Runs after the other arrived messages, so that they join the same group commit.
  const schedule = () => {
    if (!isScheduled) setImmediate(drain);
    isScheduled = true;
  };

  return (request) => {
    const { id } = request;
    switch (request.kind) {
      case 'read': {
        assertHere();
        const { sql, values } = request.query;
        const rows = statements.of(sql).all(...values) as unknown as readonly Row[];
        answer({ id, kind: 'rows', rows });
        return;
      }
      case 'check':
        assertHere();
        damagedPages(database, statements).then(
          (rows) => answer({ id, kind: 'rows', rows }),
          (error: unknown) => answer(failureOf(id, error)),
        );
        return;
      case 'write':
        queue.push({
          transaction: request.transaction,
          written: (isKept) => answer({ id, kind: 'written', isKept }),
          failed: (error, isOutcomeUnknown) => answer(failureOf(id, error, isOutcomeUnknown)),
        });
        schedule();
        return;
      case 'close':
        while (!queue.isEmpty) queue.writeNext();
        if (closes === 'served') markClosed(database);
        if (closes === 'tool') closeBeside(database, file);
        else database.close();
        answer({ id, kind: 'done' });
        port.close();
    }
  };
}

/**
 * The first damaged page, as a row of `PAGES`, or no row. Returns to the event loop after each
 * `CHECKED_PAGES` pages. Closing the database ends the check.
 */
async function damagedPages(
  database: DatabaseSync,
  statements: PreparedStatements,
): Promise<readonly Row[]> {
  let count = 0;
  const pages: Iterable<unknown> = statements.of(PAGES).iterate();
  for (const page of pages as Iterable<Row>) {
    if (page[2] === 'corrupted') return [page];
    count += 1;
    if (count % CHECKED_PAGES === 0) await nextTurn();
    if (!database.isOpen) break;
  }
  return [];
}

/** Answer to a request that failed. */
function failureOf(id: number, error: unknown, isOutcomeUnknown = false): ThreadAnswer {
  const message = error instanceof Error ? error.message : String(error);
  const failure = { message, code: resultCodeOf(error), isOutcomeUnknown };
  return { id, kind: 'failed', failure };
}

/**
 * Opens the file and serves requests. A request fails if the file cannot be opened or differs from
 * the file that the process serves. The next request tries again.
 */
function start(port: MessagePort, data: ThreadData): void {
  const place = data.opened && new FilePlace(data.file, data.opened);
  let serving: Take | undefined;
  const open = (): Take => {
    // SQLite would apply the WAL of the served file to any other file at the path.
    place?.assertHere();
    return serverOf(port, data, place, openConnection(data.file));
  };
  const take = (request: ThreadRequest): void => {
    const { id, kind } = request;
    if (kind === 'close' && serving === undefined) {
      port.postMessage({ id, kind: 'done' } satisfies ThreadAnswer);
      port.close();
      return;
    }
    serving ??= open();
    serving(request);
  };
  port.on('message', (request: ThreadRequest) => {
    try {
      take(request);
    } catch (error) {
      port.postMessage(failureOf(request.id, error));
    }
  });
  try {
    serving = open();
  } catch {
    // The first request tries again and reports the error.
  }
  // A killed process would leave no compiled code for its next start.
  flushCompileCache();
}

/** A waiting transaction and the callbacks for its outcome. */
type Waiting = {
  readonly transaction: Transaction;
  /**
   * Called when the transaction has ended. `isKept`: true if it is on disk, false if it was rolled
   * back.
   */
  readonly written: (isKept: boolean) => void;
  /**
   * Called when the transaction has failed. With `isOutcomeUnknown` it may be on disk nevertheless.
   */
  readonly failed: (error: unknown, isOutcomeUnknown: boolean) => void;
};

/** Maximum size of a group without journal transactions, in bytes: a few milliseconds of work. */
const OTHERS_BYTES_MAX = 256 * 1_024;

/** Outcome of one transaction in a group commit. */
type Outcome =
  | { readonly isKept: boolean }
  | { readonly error: unknown; readonly isOutcomeUnknown: boolean };

/**
 * Queue of waiting transactions. Group commit: one `fsync` makes many transactions durable. All
 * journal transactions form the first group. The second group contains other transactions, for a
 * few milliseconds of work, because new journal transactions wait for this group. Each transaction
 * succeeds or fails on its own, as long as the file can be written.
 */
export class WriteQueue {
  readonly #database: DatabaseSync;
  readonly #statements: PreparedStatements;
  readonly #place: FilePlace | undefined;
  #journal: Waiting[] = [];
  readonly #others: Waiting[] = [];

  /**
   * `place`: expected place of the file, checked before transactions are answered; undefined: no
   * check.
   */
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

  /** Commits all journal transactions, then some other transactions, and answers all of them. */
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
    // A commit whose `fsync` failed may be on disk after a crash.
    let isOutcomeUnknown = false;
    try {
      if (this.#place?.isAway) this.#place.assertHere();
      this.#run('BEGIN IMMEDIATE');
      const outcomes = together.map(({ transaction }) => this.#attempt(transaction));
      isOutcomeUnknown = true;
      this.#run('COMMIT');
      // One check per group: two system calls in addition to the `fsync`.
      this.#place?.assertHere();
      return outcomes;
    } catch (error) {
      // SQLite may have rolled back already, for example on a full disk.
      if (this.#database.isTransaction) this.#run('ROLLBACK');
      return together.map(() => ({ error, isOutcomeUnknown }));
    }
  }

  /**
   * Runs a single transaction. Throws if the whole group is lost, because the file cannot be
   * written.
   */
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

  /** Runs a statement and returns the number of rows that it changed. */
  #run(sql: string, values: readonly SqlValue[] = []): number {
    const statement = this.#statements.of(sql);
    return Number(statement.run(...(values as readonly SQLInputValue[])).changes);
  }
}

/** Result codes caused by a statement and not by the file. Undefined: not an error of SQLite. */
const OF_STATEMENT: readonly (number | undefined)[] = [
  undefined,
  ...[RESULT.error, RESULT.tooBig, RESULT.constraint, RESULT.mismatch, RESULT.range],
];

/**
 * Prepared statements of a connection, by SQL text. The stores have a bounded number of SQL texts.
 */
class PreparedStatements {
  readonly #database: DatabaseSync;
  readonly #bySql = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Statement for an SQL text. Its rows are arrays of columns. */
  of(sql: string): StatementSync {
    let statement = this.#bySql.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      statement.setReturnArrays(true);
      this.#bySql.set(sql, statement);
    }
    return statement;
  }
}

const port = parentPort;
port?.once('message', (data: ThreadData) => start(port, data));
