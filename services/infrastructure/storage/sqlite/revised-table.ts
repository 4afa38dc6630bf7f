import { Fault } from '#errors/fault';
import type { Row, SqliteDatabase, Statement } from '#storage/sqlite/database';
import { CheckedTable, textIn, wholeIn } from '#storage/sqlite/tables';

/** State of a row, and its revision for the optimistic lock. */
export type Revised<State> = { readonly state: State; readonly revision: number };

/** Change of a row, and the answer to the caller. Without `put`, nothing is written. */
export type RevisedChange<State, Answer> = {
  readonly put?: State;
  /** Further statements of the same transaction. */
  readonly also?: readonly Statement[];
  readonly answer: Answer;
};

/** A row to change, and the name of the operation in metrics. */
type Place<State extends object | null> = {
  readonly database: SqliteDatabase;
  readonly table: RevisedTable<State>;
  readonly key: string;
  readonly operation: string;
};

/** Revision of a new row. */
export const FIRST_REVISION = 1;

/** Maximum number of attempts per change. People and accounts rarely have two writers. */
const TRIES_MAX = 8;

/**
 * Table whose rows change as a whole, under an optimistic lock. A row has a key, a revision that
 * every change increments, and a JSON state. A null state means that only the key is left.
 */
export class RevisedTable<State extends object | null> {
  readonly #table: CheckedTable;
  readonly #key: string;

  constructor(name: string, key: string) {
    this.#key = key;
    this.#table = new CheckedTable({
      name,
      keys: [key],
      others: ['revision', 'state'],
      part: null,
    });
  }

  /** Query for the rows that match a condition; `rowsOf` decodes its result. */
  select(condition: string): string {
    return this.#table.select(condition);
  }

  /** States and revisions of rows. Throws `CorruptState` for a damaged row. */
  rowsOf(rows: readonly Row[]): Revised<State>[] {
    return this.#table.rowsOf(rows).map((row) => revisedIn<State>(row));
  }

  /** Throws `CorruptState` if rows are missing or damaged. */
  async assertWhole(database: SqliteDatabase): Promise<void> {
    await this.#table.assertWhole(database);
  }

  /** Keys of rows. Throws `CorruptState` for a damaged row. */
  keysOf(rows: readonly Row[]): string[] {
    return this.#table.rowsOf(rows).map((row) => textIn(row, 0));
  }

  /** Row with a key; undefined if there is none. */
  async find(
    database: SqliteDatabase,
    operation: string,
    key: string,
  ): Promise<Revised<State> | undefined> {
    const row = await this.#table.find(database, operation, [key]);
    return row && revisedIn(row);
  }

  /**
   * Writes a state if the revision of the row is `was` (undefined: no row exists). Otherwise the
   * transaction is rolled back.
   */
  put(key: string, was: number | undefined, state: State): Statement {
    const text = state === null ? null : JSON.stringify(state);
    if (was === undefined) return this.#table.insert([key, FIRST_REVISION, text]);
    return this.#table.replace([key, was + 1, text], { revision: was });
  }

  /** Deletes a row of any revision, if the row exists. */
  delete(key: string): Statement {
    return this.#table.delete(`${this.#key} = ?`, [key]);
  }

  /** Deletes a row if its revision is `was`. Otherwise the transaction is rolled back. */
  remove(key: string, was: number): Statement {
    const condition = `${this.#key} = ? AND revision = ?`;
    return { ...this.#table.delete(condition, [key, was]), changes: 1 };
  }
}

/**
 * Reads a row, decides and writes under an optimistic lock, and repeats after a conflict. `decide`
 * must have no side effects; its errors are passed on. Fulfils with the answer of `decide`. Rejects
 * with `service_unavailable` after `TRIES_MAX` conflicts.
 */
export async function changeRevised<State extends object | null, Answer>(
  { database, table, key, operation }: Place<State>,
  decide: (was: State | undefined) => RevisedChange<State, Answer>,
): Promise<Answer> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const was = await table.find(database, `${operation}_read`, key);
    const { put, also = [], answer } = decide(was?.state);
    if (put === undefined) return answer;
    const statements = [table.put(key, was?.revision, put), ...also];
    if (await database.write({ operation: `${operation}_change`, statements })) return answer;
  }
  const options = { retryAfterS: 1 };
  throw new Fault(
    'service_unavailable',
    'the account is being changed by others: try again',
    options,
  );
}

function revisedIn<State extends object | null>(row: Row): Revised<State> {
  return { state: stateIn(row), revision: wholeIn(row, 1) };
}

/**
 * Decodes the state in a row. The checksum of the row has verified the JSON, which this program
 * wrote.
 */
function stateIn<State extends object | null>(row: Row): State {
  return JSON.parse(row[2] === null ? 'null' : textIn(row, 2));
}
