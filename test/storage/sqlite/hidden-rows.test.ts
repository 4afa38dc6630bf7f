import { DatabaseSync } from 'node:sqlite';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '#stdlib/clock';
import { CorruptState } from '#storage/ports/bytes';
import { FEED_CHUNK_ROWS } from '#storage/ports/feeds';
import { sqliteAccountStore } from '#storage/sqlite/accounts';
import { sqliteFeedStore } from '#storage/sqlite/feeds';
import type { SqliteFile } from '#storage/sqlite/file';
import { sqliteInstanceStore } from '#storage/sqlite/instances';
import { sqliteJournalStore } from '#storage/sqlite/journals';
import { sqliteListingStore } from '#storage/sqlite/listings';
import { sqliteMeterStore } from '#storage/sqlite/meters';
import { openServedFile } from '#storage/sqlite/open-file';
import { factOf, fixFact } from '#storage/sqlite/schema';
import { sqliteShardStore } from '#storage/sqlite/shards';
import { ONE_BUCKET } from '#test/storage/cassandra/migrated-keyspace';
import { feedCheckpoint, feedHead } from '#test/storage/contracts/feed-records';
import { meterAt } from '#test/storage/contracts/meter-records';
import { answerRow, checkpointAt, storeOne } from '#test/storage/contracts/rows';
import { scratchFiles } from '#test/storage/sqlite/scratch-file';
import { refusalOf } from '#test/support/settled';

/* Tests a flipped bit in a key or in a page, which hides a row from look-ups. */

const files = scratchFiles();

type Case = {
  readonly table: string;
  /** Writes one row. */
  readonly write: (file: SqliteFile) => Promise<unknown>;
  /** Looks up the row and returns the result. */
  readonly read: (file: SqliteFile) => Promise<unknown>;
  /** SQL that changes the row's key. */
  readonly key: string;
};

const LISTED = { instanceId: 'i', version: 1, name: 'n', description: '', createdAtMs: 1 };
const LIMITS = { requestsPerMinute: 1, cyclesPerMonth: 2, instances: 3 };
const ACCOUNT = { id: 'a', name: 'A', plan: 'free', status: 'active' } as const;

const CASES: readonly Case[] = [
  {
    table: 'heads',
    write: (file) => storeOne(sqliteInstanceStore(file, ONE_BUCKET), 'inst_a', checkpointAt(1)),
    read: (file) => sqliteInstanceStore(file, ONE_BUCKET).readHead('inst_a'),
    key: `instance_id = 'inst_b'`,
  },
  {
    table: 'meters',
    write: (file) =>
      sqliteMeterStore(file, ONE_BUCKET).checkpoint([{ accountId: 'a', head: meterAt(1) }]),
    read: (file) => sqliteMeterStore(file, ONE_BUCKET).readHead('a'),
    key: `account_id = 'b'`,
  },
  {
    table: 'feeds',
    write: (file) =>
      sqliteFeedStore(file, ONE_BUCKET).checkpoint([
        { accountId: 'a', head: feedHead(1, 3), chunks: [] },
      ]),
    read: (file) => sqliteFeedStore(file, ONE_BUCKET).readHead('a'),
    key: `account_id = 'b'`,
  },
  {
    table: 'feed_chunks',
    write: (file) =>
      sqliteFeedStore(file, ONE_BUCKET).checkpoint([feedCheckpoint('a', 1, FEED_CHUNK_ROWS)]),
    read: (file) => sqliteFeedStore(file, ONE_BUCKET).readChunks('a', 0, 0),
    key: 'chunk = 5',
  },
  {
    table: 'listings',
    write: (file) => sqliteListingStore(file, systemClock).put('a', LISTED),
    read: (file) => sqliteListingStore(file, systemClock).listed('a'),
    key: `account_id = 'b'`,
  },
  {
    table: 'accounts',
    write: (file) =>
      sqliteAccountStore(file, systemClock).create({ ...ACCOUNT, limits: LIMITS, createdAtMs: 1 }),
    read: (file) => sqliteAccountStore(file, systemClock).find('a'),
    key: `account_id = 'b'`,
  },
  {
    table: 'shards',
    write: (file) =>
      sqliteShardStore(file).change({ service: 'engine', shard: 0, from: undefined, owner: 'o' }),
    read: (file) => sqliteShardStore(file).load('engine', 8),
    key: 'shard = 9',
  },
  {
    table: 'journals',
    write: (file) => sqliteJournalStore(file, systemClock).begin('a', '127.0.0.1:1'),
    read: (file) => sqliteJournalStore(file, systemClock).readHead('a', 'serial'),
    key: `incarnation = 'b'`,
  },
  {
    table: 'cluster_facts',
    write: (file) => fixFact(file, 'cluster', 'c'),
    read: (file) => factOf(file, 'cluster'),
    key: `fact = 'd'`,
  },
];

/** Changes a file like a disk error, without the triggers that update the checksums. */
function damage(path: string, table: string, sql: string): void {
  const database = new DatabaseSync(path);
  const names = ['inserted', 'updated', 'deleted'].map((what) => `${table}_${what}`);
  const triggers = database
    .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?")
    .all(table);
  const missing = names.filter((wanted) => triggers.every(({ name }) => name !== wanted));
  assert.equal(missing, []);
  for (const { name } of triggers) database.exec(`DROP TRIGGER ${name}`);
  database.exec(sql);
  for (const trigger of triggers) database.exec(String(trigger['sql']));
  database.close();
}

const hidden = suite('a row that cannot be found');

for (const { table, write, read, key } of CASES) {
  for (const [how, sql] of [
    ['its key has changed', `UPDATE ${table} SET ${key}`],
    ['its page no longer has the row', `DELETE FROM ${table}`],
  ] as const) {
    hidden(`of ${table} is detected: ${how}`, async () => {
      const path = files.path();
      {
        await using file = openServedFile({ file: path, clock: systemClock });
        await write(file);
        assert.ok(await read(file), 'the row is found before the damage');
      }
      damage(path, table, sql);
      await using file = openServedFile({ file: path, clock: systemClock });
      assert.instance(await refusalOf(() => read(file)), CorruptState);
    });
  }

  hidden(`of ${table} is not reported if it never existed`, async () => {
    const path = files.path();
    await using file = openServedFile({ file: path, clock: systemClock });
    const found = await read(file);
    assert.ok(found === undefined || (Array.isArray(found) && found.length === 0), `${found}`);
  });
}

hidden('of answers is detected if its key changed, but not if it never existed', async () => {
  const path = files.path();
  const answerOf = (file: SqliteFile, key: string) =>
    sqliteInstanceStore(file, ONE_BUCKET).findAnswer('inst_a', key, 0);
  {
    await using file = openServedFile({ file: path, clock: systemClock });
    const answers = ['call:a', 'call:c', 'call:e'].map((key) => answerRow(key, 1));
    await storeOne(sqliteInstanceStore(file, ONE_BUCKET), 'inst_a', checkpointAt(1, { answers }));
    assert.ok(await answerOf(file, 'call:c'));
    assert.is(await answerOf(file, 'call:b'), undefined);
  }
  const database = new DatabaseSync(path);
  database.exec("UPDATE answers SET answer_key = 'call:d' WHERE answer_key = 'call:c'");
  database.close();
  await using file = openServedFile({ file: path, clock: systemClock });
  assert.instance(await refusalOf(() => answerOf(file, 'call:c')), CorruptState);
});

hidden.run();
files.closing().run();
