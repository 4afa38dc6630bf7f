import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { SESSION_MS_MAX, type Session } from '#accounts/people';
import type { SqliteFile } from '#storage/sqlite/file';
import { sqliteListingStore } from '#storage/sqlite/listings';
import { sqliteSessionStore } from '#storage/sqlite/people';
import { deleteExpired } from '#storage/sqlite/schema';
import { scratchFiles } from '#test/storage/sqlite/scratch-file';
import { ManualClock } from '#test/support/manual-clock';

const HOUR_MS = 60 * 60 * 1_000;
const NOW_MS = Date.UTC(2026, 10, 25);

const files = scratchFiles();
const expired = suite('expired rows of a file');

expired('include listing removals after 40 days, but not listed instances', async () => {
  const database = files.open();
  const clock = new ManualClock(NOW_MS);
  const listings = sqliteListingStore(database, clock);
  const texts = { name: 'n', description: 'd', createdAtMs: 1 };
  await listings.put('a', { instanceId: 'inst_1', version: 1, ...texts });
  await listings.remove('a', 'inst_2', 5);
  await deleteExpired(database, NOW_MS + 40 * 24 * HOUR_MS - 1);
  assert.is(await countOf(database, 'listings'), 2);
  await deleteExpired(database, NOW_MS + 40 * 24 * HOUR_MS);
  assert.is(await countOf(database, 'listings'), 1);
  assert.is((await listings.load('a')).length, 1);
});

expired('include sessions after twelve hours, which reads skip before the deletion', async () => {
  const database = files.open();
  const clock = new ManualClock(NOW_MS);
  const sessions = sqliteSessionStore(database, clock);
  for (const [digest, createdAtMs] of [
    ['old', NOW_MS],
    ['new', NOW_MS + 1],
  ] as const) {
    await sessions.create({ ...SESSION, digest, createdAtMs });
  }
  clock.advance(SESSION_MS_MAX);
  assert.is(await sessions.find('u', 'old'), undefined);
  assert.equal(
    (await sessions.listOf('u')).map(({ digest }) => digest),
    ['new'],
  );
  assert.is(await countOf(database, 'console_sessions'), 2);
  await deleteExpired(database, clock.wallMs());
  assert.is(await countOf(database, 'console_sessions'), 1);
});

expired('include tombstones of deleted instances, however many', async () => {
  const database = files.open();
  await insertMany(
    database,
    2_500,
    `INSERT INTO heads SELECT 0, 'inst_' || n, 1, CASE n % 5 WHEN 0 THEN NULL ELSE n END, x'00', 0
      FROM numbers`,
  );
  await deleteExpired(database, 2_498);
  const rows = await database.read({
    operation: 'test',
    sql: 'SELECT count(*), min(expires_at_ms) FROM heads',
    values: [],
  });
  assert.equal(rows, [[501, 2_499]]);
});

expired('include answers after 25 hours, oldest first, however many', async () => {
  const database = files.open();
  await insertMany(
    database,
    2_500,
    `INSERT INTO answers SELECT 'inst', 'key ' || n, 1, ${NOW_MS} + n, x'00', 0 FROM numbers`,
  );
  await deleteExpired(database, NOW_MS + 25 * HOUR_MS);
  assert.is(await countOf(database, 'answers'), 2_500);
  await deleteExpired(database, NOW_MS + 25 * HOUR_MS + 2_300);
  assert.is(await countOf(database, 'answers'), 200);
});

expired('are found by an index, without a scan of the table', async () => {
  const database = files.open();
  for (const [table, column] of [
    ['heads', 'expires_at_ms'],
    ['listings', 'removed_at_ms'],
    ['console_sessions', 'created_at_ms'],
  ]) {
    const sql = `EXPLAIN QUERY PLAN SELECT * FROM ${table} WHERE ${column} <= ? ORDER BY ${column}`;
    const plan = await database.read({ operation: 'test', sql, values: [1] });
    assert.match(String(plan), /^[\d,]+SEARCH \w+ USING INDEX \w+ \(\w+<\?\)$/);
  }
});

const SESSION: Session = {
  ...{ digest: 'd', userId: 'u', accountId: 'a', authenticatedBy: 'password' },
  ...{ credentialsVersion: 1, createdAtMs: NOW_MS, lastSeenAtMs: NOW_MS },
  ...{ address: '127.0.0.1', client: 'a browser' },
};

async function countOf(database: SqliteFile, table: string): Promise<number> {
  const sql = `SELECT count(*) FROM ${table}`;
  const [row] = await database.read({ operation: 'test', sql, values: [] });
  return Number(row?.[0]);
}

/** Runs a statement that can read the numbers 1 to `count` from a table `numbers`. */
async function insertMany(database: SqliteFile, count: number, insert: string): Promise<void> {
  const numbers = `WITH RECURSIVE numbers(n) AS
    (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`;
  const statements = [{ sql: `${numbers} ${insert}`, values: [] }];
  await database.write({ operation: 'test', statements });
}

for (const part of [expired, files.closing()]) part.run();
