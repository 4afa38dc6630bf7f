import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { crc32 } from 'node:zlib';
import { CorruptState } from '#storage/ports/bytes';
import type { Query, Row, SqliteDatabase, SqlValue, Statement } from '#storage/sqlite/database';

/* SQLite does not detect a byte that has changed on disk, so every row has a checksum. */

/** Name and columns of a table, key columns first. */
type TableShape = {
  readonly name: string;
  readonly keys: readonly string[];
  readonly others: readonly string[];
  /**
   * Column that partitions the totals of the table in `sums`. `null`: one total for the whole
   * table. Absent: the table has no totals, and a missing row is not detected.
   */
  readonly part?: string | null;
};

/** An SQL condition and the values of its parameters. */
export type Condition = { readonly condition: string; readonly values: readonly SqlValue[] };

const ALWAYS: Condition = { condition: 'true', values: [] };

/** Conditions of a put. */
type Putting = {
  /** Name of a column. An existing row with a higher value in this column is kept. */
  readonly unlessHigher?: string;
  /** Condition for the put. Otherwise the put has no effect. */
  readonly where?: Condition;
};

/**
 * Table with a checksum per row. The last column, `checksum`, covers the name of the table and all
 * other columns, keys included.
 */
export class CheckedTable {
  readonly #name: string;
  readonly #columns: readonly string[];
  readonly #keys: readonly string[];
  readonly #part: string | null | undefined;
  readonly #insert: string;
  /** Condition that selects the row with a key. */
  readonly #isKey: string;
  readonly #one: string;
  readonly #whole: string;
  readonly #neighbours: string;
  /** Running or finished checks by file and part. */
  readonly #looks = new WeakMap<SqliteDatabase, Map<SqlValue, Promise<void>>>();

  constructor({ name, keys, others, part }: TableShape) {
    this.#name = name;
    this.#keys = keys;
    this.#columns = [...keys, ...others];
    this.#part = part;
    const places = [...this.#columns, 'checksum'].map(() => '?').join(', ');
    // The WHERE also prevents SQLite from parsing ON CONFLICT as a part of a join.
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

  /** Query for the rows that match a condition; `read` or `rowsOf` decodes its result. */
  select(condition: string): string {
    return `SELECT ${this.#columns.join(', ')}, checksum FROM ${this.#name} ${condition}`;
  }

  /** Runs a query of `select` and decodes its rows, as `rowsOf` does. */
  async read(database: SqliteDatabase, query: Query): Promise<readonly Row[]> {
    return this.rowsOf(await database.read(query));
  }

  /**
   * Row with a key; undefined if there is none. Throws `CorruptState` if the row is damaged, or if
   * a row with this key may be missing.
   */
  async find(
    database: SqliteDatabase,
    operation: string,
    key: readonly SqlValue[],
  ): Promise<Row | undefined> {
    const [row] = await this.read(database, { operation, sql: this.#one, values: key });
    if (row !== undefined) return row;
    if (this.#part === undefined) {
      // If the key of a row has changed on disk, the row is next to its former position. Check both
      // neighbours.
      const values = [...key, ...key];
      await this.read(database, { operation, sql: this.#neighbours, values });
      return undefined;
    }
    const part = this.#part === null ? 0 : key[this.#keys.indexOf(this.#part)];
    await this.assertWhole(database, part ?? 0);
    return undefined;
  }

  /**
   * Rejects with `CorruptState` if rows of a part are missing or damaged. Checks each part once per
   * process. Rows that the process writes later need no check.
   */
  async assertWhole(database: SqliteDatabase, part: SqlValue = 0): Promise<void> {
    const looks = this.#looks.get(database) ?? new Map<SqlValue, Promise<void>>();
    this.#looks.set(database, looks);
    const look = looks.get(part) ?? this.#look(database, part);
    looks.set(part, look);
    try {
      await look;
    } catch (error) {
      // Damage is permanent. After any other error, the next call checks again.
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

  /**
   * Inserts a row. If its key is taken or `where` does not hold, the transaction is rolled back.
   */
  insert(row: Row, where = ALWAYS): Statement {
    return { ...this.#insertion(row, where), changes: 1 };
  }

  /** Inserts a row unless its key is taken. */
  add(row: Row): Statement {
    return this.#insertion(row, ALWAYS);
  }

  /** Inserts a row, or replaces the row with the same key. */
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
   * Inserts a row behind all others and deletes the row with the same key. If an existing row has a
   * higher value in the column `unlessHigher`, that row is kept instead.
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

  /**
   * Replaces the row with the same key if its columns equal `was` (compare-and-set). Otherwise the
   * transaction is rolled back.
   */
  replace(row: Row, was: Readonly<Record<string, SqlValue>>): Statement {
    const set = [...this.#columns, 'checksum'].map((name) => `${name} = ?`).join(', ');
    const isSame = Object.keys(was).map((name) => `${name} IS ?`);
    const sql = `UPDATE ${this.#name} SET ${set} WHERE ${[this.#isKey, ...isSame].join(' AND ')}`;
    const values = [...this.#checked(row), ...this.#keyOf(row), ...Object.values(was)];
    return { sql, values, changes: 1 };
  }

  /** Deletes all rows that match a condition. */
  delete(condition: string, values: readonly SqlValue[]): Statement {
    return { sql: `DELETE FROM ${this.#name} WHERE ${condition}`, values };
  }

  /**
   * Columns of rows without their checksums. Throws `CorruptState` if a checksum does not match.
   */
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

/**
 * Copies bytes into a separate buffer. A small Buffer is a view of a shared buffer of 64 KiB, and a
 * message to a thread would copy all 64 KiB.
 */
function alone(value: SqlValue): SqlValue {
  if (!(value instanceof Uint8Array) || value.byteLength === value.buffer.byteLength) return value;
  return new Uint8Array(value);
}

/** Text in a column. Throws `CorruptState` if the value is not a text. */
export function textIn(row: Row, column: number): string {
  const value = row[column];
  if (typeof value === 'string') return value;
  throw new CorruptState(`column ${column} is not a text`);
}

/** Whole number in a column. Throws `CorruptState` if the value is not a whole number. */
export function wholeIn(row: Row, column: number): number {
  const value = row[column];
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw new CorruptState(`column ${column} is not a whole number`);
}

/** Bytes in a column. Throws `CorruptState` if the value is not bytes. */
export function bytesIn(row: Row, column: number): Buffer {
  const value = row[column];
  if (value instanceof Uint8Array) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  }
  throw new CorruptState(`column ${column} has no bytes`);
}

/**
 * Modulus of checksum totals, in the table `sums` and in comparisons with it. A JavaScript number
 * holds such a total exactly.
 */
export const SUM_MODULUS = 2 ** 48;

const NUMBER_BYTES = 8;

/** CRC-32 of a table's name and values, each with its type. */
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

/** Query and column for an iteration over a table in pages. */
type Paging = Pick<Query, 'operation' | 'sql'> & {
  /** Query values for the rows after a column value. */
  readonly valuesAfter: (after: SqlValue) => readonly SqlValue[];
  /** Value below the column value of the first row. */
  readonly start: SqlValue;
  /** Index of the column in a row. */
  readonly column: number;
  /** Maximum number of rows that the query returns. */
  readonly pageRows: number;
};

/** Rows of a query in pages, with their checksums. The caller verifies each page. */
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

/** Maximum wait for the write lock of another program, such as `ctl`, in milliseconds. */
export const BUSY_MS = 5_000;

/** WAL size that triggers a checkpoint, in pages: 16 MiB. */
const WAL_PAGES = 4_096;

/** Maximum size of the WAL after a checkpoint, in bytes. A backup makes the WAL grow. */
const WAL_BYTES_KEPT = 64 * 1_024 * 1_024;

/**
 * Opens a connection with a WAL and an `fsync` per commit: a commit is on disk when it returns.
 * Defines the SQL function `row_checksum(table, columns …)`. Throws for a missing file, because
 * SQLite would create an empty file and remove the WAL beside it.
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
