import type { Query, Row, SqliteDatabase, SqlValue } from '#storage/sqlite/database';

/** How rows of a table are gone through in the order of one of its columns. */
type Paging = Pick<Query, 'operation' | 'sql'> & {
  /** The values of the query for the rows behind one. */
  readonly valuesAfter: (after: SqlValue) => readonly SqlValue[];
  /** What stands before the first row in that column, and where it is in a row. */
  readonly start: SqlValue;
  readonly column: number;
  /** Rows that the query answers at most. */
  readonly pageRows: number;
};

/** The rows of a query, page by page, each as it is stored: what reads a page checks it. */
export async function* rowPages(
  database: SqliteDatabase,
  { operation, sql, valuesAfter, start, column, pageRows }: Paging,
): AsyncGenerator<readonly Row[]> {
  for (let after: SqlValue | undefined = start; after !== undefined; ) {
    const rows: readonly Row[] = await database.read({
      operation,
      sql,
      values: valuesAfter(after),
    });
    if (rows.length > 0) yield rows;
    after = rows.length < pageRows ? undefined : rows.at(-1)?.[column];
  }
}
