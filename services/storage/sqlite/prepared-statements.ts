import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** The statements of a connection, each prepared once: there are as many as the stores have texts. */
export class PreparedStatements {
  readonly #database: DatabaseSync;
  readonly #bySql = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** The statement of a text; its rows are lists of columns. */
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
