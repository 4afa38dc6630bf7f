import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { SESSION_MS_MAX } from '#accounts/people';
import type { DirtyFlag } from '#storage/ports/cluster';
import { ANSWER_STORED_MS, MARKER_AGE_MS } from '#storage/ports/instances';
import { type SchemaVersion, versionsIn } from '#storage/ports/schema-versions';
import type { SqliteDatabase } from '#storage/sqlite/database';
import { UnusableFile } from '#storage/sqlite/failures';
import { BUSY_MS, CheckedTable, textIn } from '#storage/sqlite/tables';

/** Application id in SQLite's header of a file of this program: "IDEN". */
const APPLICATION_ID = 0x4944454e;

/**
 * The same of a file that is open (decision 332): "IDEO". What is committed to such a file stands in part
 * in its WAL alone.
 */
export const OPEN_APPLICATION_ID = 0x4944454f;

/** The versions of the tables that this program knows, oldest first. */
export function knownFileVersions(): SchemaVersion[] {
  return versionsIn(readFileSync(new URL('schema.sql', import.meta.url), 'utf8'));
}

/**
 * Makes the tables of a new file, or brings those of an older program up to date, in one transaction.
 * Throws `UnusableFile` for the file of another program or of a newer version of this one.
 */
export function migrateFile(
  database: DatabaseSync,
  file: string,
  known: readonly SchemaVersion[] = knownFileVersions(),
): void {
  const version = versionOf(database, file);
  assertKnown(version, file, known);
  if (version === known.length) return;
  database.exec('BEGIN IMMEDIATE');
  try {
    for (const { statements } of known.slice(version)) {
      for (const statement of statements) database.exec(statement);
    }
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    database.exec(`PRAGMA user_version = ${known.length}`);
    database.exec('COMMIT');
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** Statistics of `ANALYZE`, which are no part of a schema. */
const STATISTICS = /^sqlite_stat[14]$/;

/**
 * Throws `UnusableFile` for a file whose schema is not exactly that of its version: a trigger or a view
 * that somebody added would run with every later write.
 */
export function assertOwnSchema(
  database: DatabaseSync,
  version: number,
  file: string,
  known: readonly SchemaVersion[] = knownFileVersions(),
): void {
  using fresh = new DatabaseSync(':memory:');
  for (const { statements } of known.slice(0, version)) {
    for (const statement of statements) fresh.exec(statement);
  }
  const [wanted, found] = [objectsOf(fresh), objectsOf(database)];
  for (const [name, sql] of found) {
    if (wanted.get(name) === sql) continue;
    const what = wanted.has(name) ? 'is not as this program makes it' : 'is none of this program';
    throw new UnusableFile(`${file} is refused: its ${name} ${what}`);
  }
  const missing = [...wanted.keys()].find((name) => !found.has(name));
  if (missing !== undefined)
    throw new UnusableFile(`${file} is damaged: its ${missing} is missing`);
}

/** Statements of the objects in a file, by kind and name. */
function objectsOf(database: DatabaseSync): ReadonlyMap<string, string> {
  const rows = database.prepare('SELECT type, name, sql FROM sqlite_schema').all();
  const own = rows.filter(({ name }) => !STATISTICS.test(String(name)));
  return new Map(own.map(({ type, name, sql }) => [`${type} ${name}`, String(sql)]));
}

/** Marks a file as open, in the file itself and not only in its WAL, which stays while others have it open. */
export function markOpen(database: DatabaseSync): void {
  database.exec(`PRAGMA application_id = ${OPEN_APPLICATION_ID}`);
  database.exec('PRAGMA wal_checkpoint(PASSIVE)');
}

/**
 * Takes the mark of an open file away. The connection that closes last copies it into the file, with all
 * that stands in the WAL.
 */
export function markClosed(database: DatabaseSync): void {
  if (numberOf(database, 'PRAGMA application_id') !== OPEN_APPLICATION_ID) return;
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
}

/** Throws `UnusableFile` for tables of a version that this program does not know. */
export function assertKnown(
  version: number,
  file: string,
  known: readonly SchemaVersion[] = knownFileVersions(),
): void {
  if (version <= known.length) return;
  throw new UnusableFile(
    `${file} has tables of version ${version}; this program knows up to ${known.length}: a newer one wrote it`,
  );
}

/**
 * The version of the tables in a file that is not open yet, which stays as it is; 0: it has none. Throws
 * `UnusableFile` if others are in it.
 */
export function versionOfFile(file: string): number {
  const database = new DatabaseSync(file, { readOnly: true, timeout: BUSY_MS });
  try {
    return versionOf(database, file);
  } finally {
    database.close();
  }
}

/** The version of the tables in a file; 0: it has none. Throws `UnusableFile` if others are in it. */
export function versionOf(database: DatabaseSync, file: string): number {
  const applicationId = numberOf(database, 'PRAGMA application_id');
  if (applicationId === APPLICATION_ID || applicationId === OPEN_APPLICATION_ID)
    return numberOf(database, 'PRAGMA user_version');
  if (applicationId === 0 && numberOf(database, 'SELECT count(*) FROM sqlite_schema') === 0)
    return 0;
  throw new UnusableFile(`${file} is a SQLite file of another program`);
}

function numberOf(database: DatabaseSync, sql: string): number {
  const statement = database.prepare(sql);
  statement.setReturnArrays(true);
  const row: unknown = statement.get();
  return Array.isArray(row) ? Number(row[0]) : 0;
}

const FACTS = new CheckedTable({
  name: 'cluster_facts',
  keys: ['fact'],
  others: ['value'],
  part: null,
});

/** The value of a fact; undefined: it has none yet. */
export async function factOf(database: SqliteDatabase, fact: string): Promise<string | undefined> {
  const row = await FACTS.find(database, 'cluster_fact_read', [fact]);
  return row && textIn(row, 1);
}

/** The value that a fact has for good: the one that stands, or `wanted`. */
export async function fixFact(
  database: SqliteDatabase,
  fact: string,
  wanted: string,
): Promise<string> {
  const stands = await factOf(database, fact);
  if (stands !== undefined) return stands;
  const statements = [FACTS.insert([fact, wanted])];
  if (await database.write({ operation: 'cluster_fact_fix', statements })) return wanted;
  const other = await factOf(database, fact);
  assert(other !== undefined, `${fact} is neither there nor not`);
  return other;
}

/** Gives a fact a value, whatever it had. */
async function putFact(database: SqliteDatabase, fact: string, value: string): Promise<void> {
  await database.write({ operation: 'cluster_fact_put', statements: [FACTS.put([fact, value])] });
}

const FACT = 'unrecorded_reads';
const POSSIBLE = 'possible';

/** The flag of a file. `database` stays the caller's. */
export function sqliteDirtyFlag(database: SqliteDatabase): DirtyFlag {
  return {
    async set() {
      if ((await factOf(database, FACT)) === POSSIBLE) return true;
      await putFact(database, FACT, POSSIBLE);
      return false;
    },
    clear: () => putFact(database, FACT, 'none'),
  };
}

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
