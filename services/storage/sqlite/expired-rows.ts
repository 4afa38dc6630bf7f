import { SESSION_MS_MAX } from '#accounts/session';
import { ANSWER_STORED_MS, MARKER_AGE_MS } from '#storage/instance-store';
import type { SqliteDatabase } from '#storage/sqlite/database';

/** Rows that one transaction deletes: it keeps what waits behind it some milliseconds. Chosen. */
const PORTION_ROWS = 1_000;

/** Rows that are over once a time that they have is `keptMs` ago. */
type Expiry = {
  readonly table: string;
  readonly key: string;
  readonly keptMs: number;
  /** Selects the keys of up to `PORTION_ROWS` of them; it is given the time. */
  readonly over: string;
};

/** Of a table with an index of the time, which is empty for rows that stay. */
function byIndex(table: string, key: string, column: string, keptMs: number): Expiry {
  const over = `SELECT ${key} FROM ${table} WHERE ${column} <= ?
    ORDER BY ${column} LIMIT ${PORTION_ROWS}`;
  return { table, key, keptMs, over };
}

/**
 * Answers have no such index, which each of them would have to be entered in: they lie in the order in
 * which they came, so that it is enough to look at the first. Those of a time when the clock was ahead
 * may hold others up until they are over themselves.
 */
const ANSWERS: Expiry = {
  table: 'answers',
  key: 'rowid',
  keptMs: ANSWER_STORED_MS,
  over: `SELECT rowid FROM (SELECT rowid, at_ms FROM answers ORDER BY rowid LIMIT ${PORTION_ROWS})
    WHERE at_ms <= ?`,
};

const EXPIRIES: readonly Expiry[] = [
  byIndex('heads', 'rowid', 'expires_at_ms', 0),
  byIndex('listings', 'account_id, instance_id', 'removed_at_ms', MARKER_AGE_MS),
  byIndex('console_sessions', 'user_id, digest', 'created_at_ms', SESSION_MS_MAX),
  ANSWERS,
];

/**
 * Deletes the rows of all tables whose time is over at `nowMs`, a portion at a time, so that what else
 * is written goes on in between. Rejects as `SqliteDatabase.write`; then some may be left.
 */
export async function deleteExpired(database: SqliteDatabase, nowMs: number): Promise<void> {
  for (const expiry of EXPIRIES) await deleteAll(database, expiry, nowMs - expiry.keptMs);
}

async function deleteAll(
  database: SqliteDatabase,
  { table, key, over }: Expiry,
  sinceMs: number,
): Promise<void> {
  const values = [sinceMs];
  const look = { operation: 'expired_read', sql: `SELECT count(*) FROM (${over})`, values };
  const statements = [{ sql: `DELETE FROM ${table} WHERE (${key}) IN (${over})`, values }];
  let found = PORTION_ROWS;
  while (found === PORTION_ROWS) {
    const [row] = await database.read(look);
    found = Number(row?.[0]);
    if (found > 0) await database.write({ operation: 'expired_delete', statements });
  }
}
