import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { FEED_CHUNK_ROWS } from '#storage/ports/feeds';
import { sqliteFeedStore } from '#storage/sqlite/feeds';
import { ONE_BUCKET } from '#test/storage/cassandra/migrated-keyspace';
import { feedCheckpoint, feedChunk, feedHead } from '#test/storage/contracts/feed-records';
import { feedStoreContract, trimmedFeedContract } from '#test/storage/contracts/feed-store';
import { emptied, scratchFiles } from '#test/storage/sqlite/scratch-file';

const files = scratchFiles();
const database = files.open();

const open = async () =>
  sqliteFeedStore(await emptied(database, 'feeds', 'feed_chunks'), ONE_BUCKET);

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

const parts = [feedStoreContract('SQLite', open), trimmedFeedContract('SQLite', open)];
for (const part of [...parts, portions, files.closing()]) part.run();
