import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { crc32 } from 'node:zlib';
import { CorruptState } from '#storage/ports/bytes';
import type { Query, Row, SqliteDatabase, SqlValue, Statement } from '#storage/sqlite/database';

/* SQLite does not notice a byte that the disk has changed, so that every row says what it must be. */

/** What a table is called, and its columns in order, those of its key first. */
type TableShape = {
  readonly name: string;
  readonly keys: readonly string[];
  readonly others: readonly string[];
  /**
   * The column by whose values the table `sums` has its rows in parts, `null`: it has all of them as one;
   * absent: it has none, and a row that cannot be found is not missed.
   */
  readonly part?: string | null;
};

/** A condition of SQL and the values of its places. */
export type Condition = { readonly condition: string; readonly values: readonly SqlValue[] };

const ALWAYS: Condition = { condition: 'true', values: [] };

/** When a row is put. */
type Putting = {
  /** A column: the row that has the key already is replaced unless it has more there. */
  readonly unlessHigher?: string;
  /** What must hold, or nothing is put. */
  readonly where?: Condition;
};

/**
 * A table whose rows have a checksum of all their columns, the key and the table's name included, in the
 * last column, `checksum`.
 */
export class CheckedTable {
  readonly #name: string;
  readonly #columns: readonly string[];
  readonly #keys: readonly string[];
  readonly #part: string | null | undefined;
  readonly #insert: string;
  /** The condition that a row has a key. */
  readonly #isKey: string;
  readonly #one: string;
  readonly #whole: string;
  readonly #neighbours: string;
  /** The parts of each file that were looked at. */
  readonly #looks = new WeakMap<SqliteDatabase, Map<SqlValue, Promise<void>>>();

  constructor({ name, keys, others, part }: TableShape) {
    this.#name = name;
    this.#keys = keys;
    this.#columns = [...keys, ...others];
    this.#part = part;
    const places = [...this.#columns, 'checksum'].map(() => '?').join(', ');
    // The condition also keeps SQLite from taking ON CONFLICT for a part of a join.
    this.#insert = `INSERT INTO ${name} (${this.#columns.join(', ')}, checksum)
      SELECT ${places} WHERE `;
    this.#isKey = keys.map((key) => `${key} = ?`).join(' AND ');
    this.#one = this.select(`WHERE ${this.#isKey}`);
    const keyPlaces = keys.map(() => '?').join(', ');
    const next = (than: '<' | '>', order: 'DESC' | 'ASC') =>
      this.select(`WHERE (${keys.join(', ')}) ${than} (${keyPlaces})
        ORDER BY ${keys.map((key) => `${key} ${order}`).join(', ')} LIMIT 1`);
    this.#neighbours = `SELECT * FROM (${next('<', 'DESC')}) UNION ALL SELECT * FROM (${next('>', 'ASC')})`;
    const columns = this.#columns.join(', ');
    this.#whole = `SELECT count(*), coalesce(sum(checksum), 0) % ${SUM_MODULUS},
        coalesce(sum(checksum <> row_checksum('${name}', ${columns})), 0),
        (SELECT rows FROM sums WHERE name = '${name}' AND part = ?1),
        (SELECT total FROM sums WHERE name = '${name}' AND part = ?1)
      FROM ${name} WHERE ${part ?? '0'} = ?1`;
  }

  /** The query for the rows that a condition names; `read` or `rowsOf` reads its answer. */
  select(condition: string): string {
    return `SELECT ${this.#columns.join(', ')}, checksum FROM ${this.#name} ${condition}`;
  }

  /** The rows that a query of `select` answers, as `rowsOf` gives them. */
  async read(database: SqliteDatabase, query: Query): Promise<readonly Row[]> {
    return this.rowsOf(await database.read(query));
  }

  /**
   * The row with a key; undefined: there is none. Throws `CorruptState` if it is not as written, or if
   * rows are missing where it should be.
   */
  async find(
    database: SqliteDatabase,
    operation: string,
    key: readonly SqlValue[],
  ): Promise<Row | undefined> {
    const [row] = await this.read(database, { operation, sql: this.#one, values: key });
    if (row !== undefined) return row;
    if (this.#part === undefined) {
      // A row whose key has changed stands beside the place at which it is looked for.
      const values = [...key, ...key];
      await this.read(database, { operation, sql: this.#neighbours, values });
      return undefined;
    }
    const part = this.#part === null ? 0 : key[this.#keys.indexOf(this.#part)];
    await this.assertWhole(database, part ?? 0);
    return undefined;
  }

  /**
   * Rejects with `CorruptState` if rows of a part are missing or not as written. Looks once in the life of
   * the process: what is written from then on is not lost by it.
   */
  async assertWhole(database: SqliteDatabase, part: SqlValue = 0): Promise<void> {
    const looks = this.#looks.get(database) ?? new Map<SqlValue, Promise<void>>();
    this.#looks.set(database, looks);
    const look = looks.get(part) ?? this.#look(database, part);
    looks.set(part, look);
    try {
      await look;
    } catch (error) {
      // Damage stays; a file that could not be read is looked at again.
      if (!(error instanceof CorruptState)) looks.delete(part);
      throw error;
    }
  }

  async #look(database: SqliteDatabase, part: SqlValue): Promise<void> {
    const operation = 'part_check';
    const query = { operation, sql: this.#whole, values: [part], isLong: true };
    const [[count, total, differing, rows, sum] = []] = await database.read(query);
    if (differing === 0 && count === (rows ?? 0) && total === (sum ?? 0)) return;
    throw new CorruptState(`rows of ${this.#name} are missing or damaged (part ${part})`);
  }

  /** Adds a row; where its key is taken or `where` does not hold, the transaction is not kept. */
  insert(row: Row, where = ALWAYS): Statement {
    return { ...this.#insertion(row, where), changes: 1 };
  }

  /** Adds a row unless its key is taken. */
  add(row: Row): Statement {
    return this.#insertion(row, ALWAYS);
  }

  /** Adds a row or puts it in the place of that with its key. */
  put(row: Row, { unlessHigher, where = ALWAYS }: Putting = {}): Statement {
    const set = [...this.#columns.slice(this.#keys.length), 'checksum'];
    const changes = set.map((column) => `${column} = excluded.${column}`).join(', ');
    const isNewer = `excluded.${unlessHigher} >= ${this.#name}.${unlessHigher}`;
    const sql = `${this.#insert} ${where.condition}
      ON CONFLICT (${this.#keys.join(', ')}) DO UPDATE SET ${changes}
      WHERE ${unlessHigher === undefined ? 'true' : isNewer}`;
    return { sql, values: [...this.#checked(row), ...where.values] };
  }

  /**
   * Adds a row behind all others, in the place of that with its key, unless that has more in the column
   * `unlessHigher`.
   */
  putLast(
    row: Row,
    { unlessHigher, where = ALWAYS }: Putting & { unlessHigher: string },
  ): Statement {
    const isHigher = `SELECT 1 FROM ${this.#name} WHERE ${this.#isKey} AND ${unlessHigher} > ?`;
    const sql = `${this.#insert.replace('INSERT', 'INSERT OR REPLACE')}
      ${where.condition} AND NOT EXISTS (${isHigher})`;
    const higher = row[this.#columns.indexOf(unlessHigher)] ?? null;
    return { sql, values: [...this.#checked(row), ...where.values, ...this.#keyOf(row), higher] };
  }

  /** Puts a row in the place of that with its key while columns of it are as they were; else nothing is kept. */
  replace(row: Row, was: Readonly<Record<string, SqlValue>>): Statement {
    const set = [...this.#columns, 'checksum'].map((name) => `${name} = ?`).join(', ');
    const isSame = Object.keys(was).map((name) => `${name} IS ?`);
    const sql = `UPDATE ${this.#name} SET ${set} WHERE ${[this.#isKey, ...isSame].join(' AND ')}`;
    const values = [...this.#checked(row), ...this.#keyOf(row), ...Object.values(was)];
    return { sql, values, changes: 1 };
  }

  /** Deletes the rows that a condition names, however many. */
  delete(condition: string, values: readonly SqlValue[]): Statement {
    return { sql: `DELETE FROM ${this.#name} WHERE ${condition}`, values };
  }

  /** The columns of rows without their checksums. Throws `CorruptState` for one that is not as written. */
  rowsOf(rows: readonly Row[]): readonly Row[] {
    return rows.map((row) => {
      const columns = row.slice(0, -1);
      if (row.at(-1) === checksumOf(this.#name, columns)) return columns;
      const key = this.#keyOf(columns).join(' ');
      throw new CorruptState(`the row ${key} of ${this.#name} does not match its checksum`);
    });
  }

  #insertion(row: Row, { condition, values }: Condition): Statement {
    const sql = `${this.#insert} ${condition} ON CONFLICT DO NOTHING`;
    return { sql, values: [...this.#checked(row), ...values] };
  }

  #keyOf(row: Row): Row {
    return row.slice(0, this.#keys.length);
  }

  #checked(row: Row): SqlValue[] {
    return [...row.map(alone), checksumOf(this.#name, row)];
  }
}

/** Bytes by themselves: a small Buffer is a part of 64 KiB, all of which would be sent to a thread. */
function alone(value: SqlValue): SqlValue {
  if (!(value instanceof Uint8Array) || value.byteLength === value.buffer.byteLength) return value;
  return new Uint8Array(value);
}

/** The text in a column. Throws `CorruptState` where there is none. */
export function textIn(row: Row, column: number): string {
  const value = row[column];
  if (typeof value === 'string') return value;
  throw new CorruptState(`column ${column} is no text`);
}

/** The whole number in a column. Throws `CorruptState` where there is none. */
export function wholeIn(row: Row, column: number): number {
  const value = row[column];
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw new CorruptState(`column ${column} is no whole number`);
}

/** The bytes in a column. Throws `CorruptState` where there are none. */
export function bytesIn(row: Row, column: number): Buffer {
  const value = row[column];
  if (value instanceof Uint8Array) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  }
  throw new CorruptState(`column ${column} has no bytes`);
}

/**
 * What sums of checksums are kept modulo, in the table `sums` and wherever they are compared with it: a
 * number of JavaScript holds them.
 */
export const SUM_MODULUS = 2 ** 48;

const NUMBER_BYTES = 8;

/** CRC-32 of a table's name and values, each with its kind. */
function checksumOf(name: string, values: readonly SqlValue[]): number {
  let sum = crc32(name);
  for (const value of values) {
    if (value === null) sum = crc32('\0n', sum);
    else if (typeof value === 'string') sum = crc32(value, crc32('\0t', sum));
    else if (typeof value === 'number') sum = crc32(bytesOfNumber(value), crc32('\0i', sum));
    else sum = crc32(value, crc32('\0b', sum));
  }
  return sum;
}

function bytesOfNumber(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(NUMBER_BYTES);
  bytes.writeDoubleLE(value);
  return bytes;
}

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

/** Milliseconds for which a connection waits for another program that writes: `ctl`, say. */
export const BUSY_MS = 5_000;

/** Pages in the WAL from which on the writer copies them back into the file: 16 MiB. */
const WAL_PAGES = 4_096;

/** Bytes that the WAL keeps at most once it has been copied back: a backup makes it grow. */
const WAL_BYTES_KEPT = 64 * 1_024 * 1_024;

/**
 * A connection to the file whose commits are on disk when they return: in WAL, with an `fsync` for each.
 * SQL may call `row_checksum(table, columns …)` there. Throws where no file is: SQLite would make one,
 * and remove the WAL beside an empty file.
 */
export function openConnection(file: string): DatabaseSync {
  const url = pathToFileURL(file);
  url.search = 'mode=rw';
  const database = new DatabaseSync(url, { timeout: BUSY_MS });
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = ${WAL_PAGES};
    PRAGMA journal_size_limit = ${WAL_BYTES_KEPT};
  `);
  const options = { deterministic: true, varargs: true };
  database.function('row_checksum', options, (name, ...values) =>
    checksumOf(String(name), values as SqlValue[]),
  );
  return database;
}
