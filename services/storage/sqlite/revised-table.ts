import { Fault } from '#fault/fault';
import type { Row, SqliteDatabase, Statement } from '#storage/sqlite/database';
import { CheckedTable, textIn, wholeIn } from '#storage/sqlite/tables';

/** What a row says, and the revision that a change of it must find again. */
export type Revised<State> = { readonly state: State; readonly revision: number };

/** What becomes of a row; without `put` nothing is written. */
export type RevisedChange<State, Answer> = {
  readonly put?: State;
  /** What is written with it, in the same transaction. */
  readonly also?: readonly Statement[];
  readonly answer: Answer;
};

/** A row that is changed, and how metrics name it. */
type Place<State extends object | null> = {
  readonly database: SqliteDatabase;
  readonly table: RevisedTable<State>;
  readonly key: string;
  readonly operation: string;
};

/** The revision of a row that is new. */
export const FIRST_REVISION = 1;

/** Tries of a change that others get in front of; people and accounts change rarely. Chosen. */
const TRIES_MAX = 8;

/**
 * A table of rows that change as a whole, each only while it is as it was read: a key, a revision that
 * every change moves on, and a state as JSON, or none where only the key is left.
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

  /** The query for the rows that a condition names; `rowsOf` reads its answer. */
  select(condition: string): string {
    return this.#table.select(condition);
  }

  /** What rows say. Throws `CorruptState` for one that is not as written. */
  rowsOf(rows: readonly Row[]): Revised<State>[] {
    return this.#table.rowsOf(rows).map((row) => revisedIn<State>(row));
  }

  /** Throws `CorruptState` if rows are missing or not as written. */
  async assertWhole(database: SqliteDatabase): Promise<void> {
    await this.#table.assertWhole(database);
  }

  /** The keys of rows. Throws `CorruptState` for one that is not as written. */
  keysOf(rows: readonly Row[]): string[] {
    return this.#table.rowsOf(rows).map((row) => textIn(row, 0));
  }

  /** The row with a key; undefined: there is none. */
  async find(
    database: SqliteDatabase,
    operation: string,
    key: string,
  ): Promise<Revised<State> | undefined> {
    const row = await this.#table.find(database, operation, [key]);
    return row && revisedIn(row);
  }

  /** Gives a row another state while its revision is `was`, undefined: there is none; else nothing is kept. */
  put(key: string, was: number | undefined, state: State): Statement {
    const text = state === null ? null : JSON.stringify(state);
    if (was === undefined) return this.#table.insert([key, FIRST_REVISION, text]);
    return this.#table.replace([key, was + 1, text], { revision: was });
  }

  /** Deletes a row, of whatever revision, if it is there. */
  delete(key: string): Statement {
    return this.#table.delete(`${this.#key} = ?`, [key]);
  }

  /** Deletes a row while its revision is `was`; else nothing is kept. */
  remove(key: string, was: number): Statement {
    const condition = `${this.#key} = ? AND revision = ?`;
    return { ...this.#table.delete(condition, [key, was]), changes: 1 };
  }
}

/**
 * Reads a row, decides and writes, again until no other writer came in between. `decide` must do
 * nothing else; what it throws is rejected with. Fulfils with its answer. Rejects with
 * `service_unavailable` when others always came first.
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
  throw new Fault('service_unavailable', 'the account is being changed by others', options);
}

function revisedIn<State extends object | null>(row: Row): Revised<State> {
  return { state: stateIn(row), revision: wholeIn(row, 1) };
}

/** JSON that this program wrote: the checksum of its row has shown that no byte of it has changed. */
function stateIn<State extends object | null>(row: Row): State {
  return JSON.parse(row[2] === null ? 'null' : textIn(row, 2));
}
