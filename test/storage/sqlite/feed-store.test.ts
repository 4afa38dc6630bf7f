import { DatabaseSync } from 'node:sqlite';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '#stdlib/clock';
import { FEED_CHUNK_ROWS } from '#storage/ports/feeds';
import { sqliteFeedStore } from '#storage/sqlite/feeds';
import { openServedFile } from '#storage/sqlite/open-file';
import { knownFileVersions } from '#storage/sqlite/schema';
import { ONE_BUCKET } from '#test/storage/cassandra/migrated-keyspace';
import { feedCheckpoint, feedChunk, feedHead } from '#test/storage/contracts/feed-records';
import { feedStoreContract, trimmedFeedContract } from '#test/storage/contracts/feed-store';
import { emptied, scratchFiles } from '#test/storage/sqlite/scratch-file';

const files = scratchFiles();
const database = files.open();

const open = async () =>
  sqliteFeedStore(await emptied(database, 'feeds', 'feed_chunks'), ONE_BUCKET);

/** Application id of this program's files in SQLite's header: "IDEN". */
const APPLICATION_ID = 0x4944454e;

const portions = suite('many chunks in SQLite');

/** More chunks than one transaction deletes. */
const CHUNKS = 600;

async function openLong() {
  const store = await open();
  const chunks = Array.from({ length: CHUNKS }, (_, chunk) => feedChunk(chunk));
  await store.checkpoint([{ accountId: 'a', head: feedHead(1, CHUNKS * FEED_CHUNK_ROWS), chunks }]);
  return store;
}

async function stored(): Promise<number> {
  const sql = 'SELECT count(*) FROM feed_chunks';
  const [row] = await database.read({ operation: 'test', sql, values: [] });
  return Number(row?.[0]);
}

portions('below the floor are deleted in portions, oldest first', async () => {
  const store = await openLong();
  const next = CHUNKS * FEED_CHUNK_ROWS;
  const found = [];
  for (const version of [2, 3, 4]) {
    await store.checkpoint([feedCheckpoint('a', version, next, { floor: next })]);
    found.push(await stored());
  }
  assert.equal(found, [CHUNKS - 256, CHUNKS - 512, 0]);
});

portions('are all erased', async () => {
  const store = await openLong();
  await store.erase('a');
  assert.is(await stored(), 0);
});

const older = suite('a file of the schema version before feeds');

older('gets the tables of feeds when it is opened', async () => {
  const path = files.path();
  const database = new DatabaseSync(path);
  for (const sql of knownFileVersions()[0]?.statements ?? []) database.exec(sql);
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 1`);
  database.close();
  await using file = openServedFile({ file: path, clock: systemClock });
  const store = sqliteFeedStore(file, ONE_BUCKET);
  const checkpoint = feedCheckpoint('a', 1, FEED_CHUNK_ROWS);
  await store.checkpoint([checkpoint]);
  assert.equal(await store.readHead('a'), checkpoint.head);
  assert.equal(await store.readChunks('a', 0, 0), checkpoint.chunks);
});

const parts = [feedStoreContract('SQLite', open), trimmedFeedContract('SQLite', open)];
for (const part of [...parts, portions, older, files.closing()]) part.run();
