import * as assert from 'uvu/assert';
import { cassandraFeedStore } from '#storage/cassandra/feeds';
import type { CassandraSession } from '#storage/cassandra/session';
import { CorruptState } from '#storage/ports/bytes';
import { encodeFeedChunk } from '#storage/ports/feed-codec';
import { type ErasableFeeds, FEED_CHUNK_ROWS } from '#storage/ports/feeds';
import { openFaultyLink } from '#test/storage/cassandra/faulty-link';
import { newPrefix, ONE_BUCKET, sessionIn } from '#test/storage/cassandra/migrated-keyspace';
import {
  FEED_START_MS,
  feedCheckpoint,
  feedChunk,
  feedHead,
} from '#test/storage/contracts/feed-records';
import { feedStoreContract } from '#test/storage/contracts/feed-store';
import { keyspaceOfFile } from '#test/storage/sqlite/keyspace-of-file';
import { cassandraOrSkip } from '#test/support/servers/real-servers';
import { faultIn, refusalOf } from '#test/support/settled';

const { address, suite } = cassandraOrSkip();
const keyspace = keyspaceOfFile(address);

/** Number of random orders of writes to test, each with about five writes and reads. */
const RUNS = 25;

const EIGHT_DAYS_S = 8 * 86_400;

/** Opens a store that has no feeds, because its ids get a unique prefix. */
async function open(): Promise<ErasableFeeds> {
  const { store, prefix } = await keyspace.emptyStore((session) =>
    cassandraFeedStore(session, ONE_BUCKET),
  );
  return {
    rowsMax: store.rowsMax,
    bucketOf: (accountId) => store.bucketOf(prefix + accountId),
    readHead: (accountId) => store.readHead(prefix + accountId),
    readChunks: (accountId, first, last) => store.readChunks(prefix + accountId, first, last),
    erase: (accountId) => store.erase(prefix + accountId),
    listEndpoints: (accountId) => store.listEndpoints(prefix + accountId),
    withEndpoints: (bucket) => store.withEndpoints(bucket),
    putIndexPart: (accountId, ...part) => store.putIndexPart(prefix + accountId, ...part),
    indexPart: (accountId, part) => store.indexPart(prefix + accountId, part),
    checkpoint: (checkpoints) =>
      store.checkpoint(
        checkpoints.map(({ accountId, ...others }) => ({
          ...others,
          accountId: prefix + accountId,
        })),
      ),
  };
}

async function ownStore() {
  const { session } = await keyspace.opened();
  return { id: `${newPrefix()}own`, session, store: cassandraFeedStore(session, ONE_BUCKET) };
}

async function overwrite(session: CassandraSession, query: string, params: unknown[]) {
  await session.execute(query, params, { kind: 'write', operation: 'test_write' });
}

const OVERWRITE_HEAD = `UPDATE feeds USING TIMESTAMP 9 SET state = ?
  WHERE bucket = 7 AND account_id = ?`;
const OVERWRITE_CHUNK = `INSERT INTO feed_chunks (state, account_id, part, chunk)
  VALUES (?, ?, 0, 1) USING TIMESTAMP 8000000000000000`;

const rows = suite('the rows of a feed in Cassandra');

rows('have the version as timestamp of the head, and the last time of the chunk', async () => {
  const { id, session, store } = await ownStore();
  await store.checkpoint([feedCheckpoint(id, 6, 2 * FEED_CHUNK_ROWS + 5)]);
  const read = { kind: 'read', operation: 'test_read' } as const;
  const heads = `SELECT WRITETIME(state) AS stamp, TTL(state) AS ttl FROM feeds
    WHERE bucket = 7 AND account_id = ?`;
  const [head] = (await session.execute(heads, [id], read)).rows;
  assert.equal([head?.['stamp'], head?.['ttl']], [6n, null]);
  const chunks = `SELECT WRITETIME(state) AS stamp, TTL(state) AS ttl FROM feed_chunks
    WHERE account_id = ? AND part = 0`;
  const stored = (await session.execute(chunks, [id], read)).rows;
  const lastUs = [255, 511].map((position) => BigInt(FEED_START_MS + 1_000 * position) * 1_000n);
  assert.equal(
    stored.map((row) => row['stamp']),
    lastUs,
  );
  for (const row of stored) {
    const ttl = Number(row['ttl']);
    assert.ok(ttl > EIGHT_DAYS_S - 600 && ttl <= EIGHT_DAYS_S, `${ttl} s`);
  }
});

rows('include no head if a chunk could not be written', async () => {
  const { id, session, store } = await ownStore();
  const failing = {
    execute: session.execute.bind(session),
    batch: () => Promise.reject(new Error('no answer')),
  };
  const broken = cassandraFeedStore(failing as unknown as CassandraSession, ONE_BUCKET);
  const failure = refusalOf(() => broken.checkpoint([feedCheckpoint(id, 1, 600)]));
  assert.is((await failure).message, 'no answer');
  assert.is(await store.readHead(id), undefined);
});

rows('that are damaged are rejected with an error that names the feed or the chunk', async () => {
  const { id, session, store } = await ownStore();
  await store.checkpoint([feedCheckpoint(id, 1, 3 * FEED_CHUNK_ROWS)]);
  await overwrite(session, OVERWRITE_HEAD, [Buffer.from('damaged'), id]);
  await overwrite(session, OVERWRITE_CHUNK, [encodeFeedChunk(feedChunk(2)), id]);
  const head = await refusalOf(() => store.readHead(id));
  assert.instance(head, CorruptState);
  assert.match(head.message, new RegExp(`^the feed of ${id} `));
  const chunk = await refusalOf(() => store.readChunks(id, 0, 2));
  assert.instance(chunk, CorruptState);
  assert.is(chunk.message, `chunk 1 of the feed of ${id} has the number 2`);
  assert.equal(await store.readChunks(id, 2, 2), [feedChunk(2)]);
});

rows('of a damaged head can be erased', async () => {
  const { id, session, store } = await ownStore();
  await store.checkpoint([feedCheckpoint(id, 1, FEED_CHUNK_ROWS)]);
  await overwrite(session, OVERWRITE_HEAD, [Buffer.from('damaged'), id]);
  await store.erase(id);
  assert.is(await store.readHead(id), undefined);
  assert.equal(await store.readChunks(id, 0, 9), []);
});

const cut = suite('feeds in an unreachable Cassandra');

cut('are neither read nor stored nor erased: every call fails', async () => {
  await using link = await openFaultyLink(address);
  await using session = await sessionIn(link.address, (await keyspace.opened()).name);
  const store = cassandraFeedStore(session, ONE_BUCKET);
  await store.checkpoint([{ accountId: 'cut', head: feedHead(1, 3), chunks: [] }]);
  link.setOpen(false);
  link.cut();
  const calls = [
    store.readHead('cut'),
    store.readChunks('cut', 0, 1),
    store.checkpoint([feedCheckpoint('cut', 2, 300)]),
    store.erase('cut'),
  ];
  for (const call of calls) assert.is((await faultIn(call)).code, 'service_unavailable');
});

for (const part of [feedStoreContract('Cassandra', open, RUNS, suite), rows, cut]) part.run();
keyspace.closing(suite).run();
