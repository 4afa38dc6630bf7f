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

/** Application id of this program's files in SQLite's header: "IDEN". */
const APPLICATION_ID = 0x4944454e;

/**
 * Application id of an open file: "IDEO" (decision 332). Some commits of such a file are only in
 * its WAL.
 */
export const OPEN_APPLICATION_ID = 0x4944454f;

/** Schema versions that this program knows, oldest first. */
export function knownFileVersions(): SchemaVersion[] {
  return versionsIn(readFileSync(new URL('schema.sql', import.meta.url), 'utf8'));
}

/**
 * Creates the tables in a new file, or migrates older tables, in one transaction. Throws
 * `UnusableFile` for a file of another program or a newer version.
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

/** Statistics tables that `ANALYZE` creates, which are not part of a schema. */
const STATISTICS = /^sqlite_stat[14]$/;

/**
 * Throws `UnusableFile` if the schema of a file differs from the schema of its version. A trigger
 * or a view that somebody added would run with every later write.
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
    const what = wanted.has(name)
      ? 'differs from the schema of this program'
      : 'does not belong to this program';
    throw new UnusableFile(`${file} is refused: its ${name} ${what}`);
  }
  const missing = [...wanted.keys()].find((name) => !found.has(name));
  if (missing !== undefined)
    throw new UnusableFile(`${file} is damaged: its ${missing} is missing`);
}

/** SQL of the objects in a schema, by type and name. */
function objectsOf(database: DatabaseSync): ReadonlyMap<string, string> {
  const rows = database.prepare('SELECT type, name, sql FROM sqlite_schema').all();
  const own = rows.filter(({ name }) => !STATISTICS.test(String(name)));
  return new Map(own.map(({ type, name, sql }) => [`${type} ${name}`, String(sql)]));
}

/** Marks a file as open. The checkpoint copies the mark from the WAL into the file itself. */
export function markOpen(database: DatabaseSync): void {
  database.exec(`PRAGMA application_id = ${OPEN_APPLICATION_ID}`);
  database.exec('PRAGMA wal_checkpoint(PASSIVE)');
}

/**
 * Removes the open mark. The last connection checkpoints this change into the file when it closes,
 * together with the rest of the WAL.
 */
export function markClosed(database: DatabaseSync): void {
  if (numberOf(database, 'PRAGMA application_id') !== OPEN_APPLICATION_ID) return;
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
}

/** Throws `UnusableFile` for a schema version that this program does not know. */
export function assertKnown(
  version: number,
  file: string,
  known: readonly SchemaVersion[] = knownFileVersions(),
): void {
  if (version <= known.length) return;
  throw new UnusableFile(
    `${file} has tables of version ${version}; this program knows up to ${known.length}: use the newer release that wrote it`,
  );
}

/**
 * Schema version of a file that is not open yet; 0 if it has no tables. The file is only read.
 * Throws `UnusableFile` for a file of another program.
 */
export function versionOfFile(file: string): number {
  const database = new DatabaseSync(file, { readOnly: true, timeout: BUSY_MS });
  try {
    return versionOf(database, file);
  } finally {
    database.close();
  }
}

/**
 * Schema version of an open file; 0 if it has no tables. Throws `UnusableFile` for another
 * program's file.
 */
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

/** Value of a cluster fact; undefined if the fact is not set. */
export async function factOf(database: SqliteDatabase, fact: string): Promise<string | undefined> {
  const row = await FACTS.find(database, 'cluster_fact_read', [fact]);
  return row && textIn(row, 1);
}

/**
 * Sets a cluster fact, unless it is set. Returns the stored value: an earlier value, or `wanted`.
 */
export async function fixFact(
  database: SqliteDatabase,
  fact: string,
  wanted: string,
): Promise<string> {
  const stored = await factOf(database, fact);
  if (stored !== undefined) return stored;
  const statements = [FACTS.insert([fact, wanted])];
  if (await database.write({ operation: 'cluster_fact_fix', statements })) return wanted;
  const other = await factOf(database, fact);
  assert(other !== undefined, `${fact} could neither be inserted nor read`);
  return other;
}

/** Sets a cluster fact and overwrites an earlier value. */
async function putFact(database: SqliteDatabase, fact: string, value: string): Promise<void> {
  await database.write({ operation: 'cluster_fact_put', statements: [FACTS.put([fact, value])] });
}

const FACT = 'unrecorded_reads';
const POSSIBLE = 'possible';

/** Dirty flag in an SQLite file. The caller closes `database`. */
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

/**
 * Maximum number of rows that one transaction deletes. Other writes wait some milliseconds for the
 * transaction.
 */
const PORTION_ROWS = 1_000;

/** Expiry rule of a table: a row expires `keptMs` after the time stored in the row. */
type Expiry = {
  readonly table: string;
  readonly key: string;
  readonly keptMs: number;
  /**
   * Selects the keys of up to `PORTION_ROWS` expired rows. The parameter is the latest expired
   * time.
   */
  readonly over: string;
};

/** Expiry rule with an index on the time column. A null time means that the row stays. */
function byIndex(table: string, key: string, column: string, keptMs: number): Expiry {
  const over = `SELECT ${key} FROM ${table} WHERE ${column} <= ?
    ORDER BY ${column} LIMIT ${PORTION_ROWS}`;
  return { table, key, keptMs, over };
}

/**
 * Expiry rule of answers. An index on the time would cost a write per answer. Instead, answers are
 * stored in the order of arrival, so that the first rows expire first. An answer from a time when
 * the clock was ahead delays the answers behind it until its own expiry.
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
 * Deletes the rows of all tables that have expired by `nowMs`. Deletes in portions, so that other
 * writes can run in between. Rejects like `SqliteDatabase.write`; some expired rows may then be
 * left.
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
