import assert from 'node:assert/strict';
import type { CassandraSession, StatementOptions } from '#storage/cassandra/session';
import { allDone, type RowWrite, writeRows } from '#storage/cassandra/statements';
import { CorruptState } from '#storage/ports/bytes';
import {
  chunkOf,
  decodeFeedChunk,
  decodeFeedHead,
  encodeFeedChunk,
  encodeFeedHead,
} from '#storage/ports/feed-codec';
import {
  type ErasableFeeds,
  FEED_AGE_MS,
  FEED_ROWS_MAX,
  type FeedCheckpoint,
  type FeedChunk,
  INDEX_PARTS,
  type IndexStore,
} from '#storage/ports/feeds';
import { type BucketOf, HEADS_BYTES_MAX, HEADS_MAX } from '#storage/ports/instances';

/** Chunks per partition, about 10 MB. Must never change, because the part is in the storage key. */
const PART_CHUNKS = 512;

/** Maximum number of chunks in a page, about 1 MB. */
const PAGE_CHUNKS = 64;

/** Maximum number of accounts in a page. */
const PAGE_ACCOUNTS = 5_000;

/** Maximum number of feeds in a checkpoint whose chunks are written in parallel. */
const CHUNKS_IN_FLIGHT_MAX = 4;

/** Retention of a chunk, in seconds: a day longer than `FEED_AGE_MS`, for late checkpoints. */
const CHUNK_TTL_S = FEED_AGE_MS / 1_000 + 24 * 60 * 60;

const READ = 'SELECT state FROM feeds WHERE bucket = ? AND account_id = ?';
const WRITE = `INSERT INTO feeds (bucket, account_id, state) VALUES (?, ?, ?)
  USING TIMESTAMP ?`;
const ERASE = 'DELETE FROM feeds USING TIMESTAMP ? WHERE bucket = ? AND account_id = ?';
// The lower bound keeps the read away from the tombstones of expired chunks.
const READ_CHUNKS = `SELECT chunk, state FROM feed_chunks
  WHERE account_id = ? AND part = ? AND chunk >= ? AND chunk <= ?`;
const LIST_ENDPOINTS = `INSERT INTO webhook_accounts (bucket, account_id) VALUES (?, ?)
  USING TIMESTAMP 1`;
const WITH_ENDPOINTS = 'SELECT account_id FROM webhook_accounts WHERE bucket = ?';
const UNLIST = 'DELETE FROM webhook_accounts USING TIMESTAMP ? WHERE bucket = ? AND account_id = ?';
const WRITE_CHUNK = `INSERT INTO feed_chunks (account_id, part, chunk, state)
  VALUES (?, ?, ?, ?) USING TIMESTAMP ? AND TTL ${CHUNK_TTL_S}`;
const ERASE_CHUNKS = `DELETE FROM feed_chunks USING TIMESTAMP ?
  WHERE account_id = ? AND part = ?`;

const WRITE_INDEX_PART = `INSERT INTO index_parts (account_id, part, state) VALUES (?, ?, ?)
  USING TIMESTAMP ? AND TTL ${60 * 60}`;
const READ_INDEX_PART = 'SELECT state FROM index_parts WHERE account_id = ? AND part = ?';
const ERASE_INDEX_PART = `DELETE FROM index_parts USING TIMESTAMP ?
  WHERE account_id = ? AND part = ?`;

/** Timestamp of a deletion, above every version and every time. */
const LAST_VERSION = BigInt(Number.MAX_SAFE_INTEGER);

/** Microseconds in a millisecond: unit of timestamps. */
const MICROSECONDS = 1_000n;

/**
 * Feeds in Cassandra. The timestamp of a head is its version. The higher version therefore wins,
 * even if writes arrive late or twice (architecture 3.2). The timestamp of a chunk is the time of
 * its last row, because Cassandra drops a whole file of expired chunks only if timestamps are
 * times. Reads throw `CorruptState` for a damaged value.
 */
export function cassandraFeedStore(session: CassandraSession, bucketOf: BucketOf): ErasableFeeds {
  async function readHead(accountId: string) {
    const options: StatementOptions = { kind: 'read', operation: 'feed_read' };
    const { rows } = await session.execute(READ, [bucketOf(accountId), accountId], options);
    return rows[0] === undefined ? undefined : decodeFeedHead(accountId, rows[0]['state']);
  }

  /**
   * Partitions of a feed that may hold chunks: up to the next position. Chunks below the floor may
   * not have expired yet. One more partition covers late checkpoints. Of a damaged head, only the
   * first partitions: other chunks expire.
   */
  async function partsOf(accountId: string): Promise<number[]> {
    const { next } = (await readHead(accountId).catch(undefinedIfCorrupt)) ?? NO_ROWS;
    return Array.from({ length: partOf(chunkOf(next)) + 2 }, (_, part) => part);
  }

  return {
    rowsMax: FEED_ROWS_MAX,
    bucketOf,
    readHead,
    async readChunks(accountId, first, last) {
      const found: FeedChunk[] = [];
      const options = { kind: 'read', operation: 'feed_chunks_read' } as const;
      for (let part = partOf(first); part <= partOf(last); part += 1) {
        const params = [accountId, part, BigInt(first), BigInt(last)];
        const paging: StatementOptions = { ...options, pageRows: PAGE_CHUNKS };
        for await (const page of session.pages(READ_CHUNKS, params, paging)) {
          for (const row of page) {
            found.push(decodeFeedChunk(accountId, Number(row['chunk']), row['state']));
          }
        }
      }
      return found;
    },
    async checkpoint(checkpoints) {
      assert(checkpoints.length <= HEADS_MAX, `more than ${HEADS_MAX} feeds at once`);
      const heads = checkpoints.map(({ accountId, head }): RowWrite => {
        const partition = bucketOf(accountId);
        const state = encodeFeedHead(head);
        const params = [partition, accountId, state, BigInt(head.version)];
        return { partition, statement: { query: WRITE, params }, valueBytes: state.length };
      });
      // Chunks are written first. A stored head names every chunk below its newest rows.
      const waiting = checkpoints.values();
      const worker = async (): Promise<void> => {
        for (const checkpoint of waiting) await writeChunks(session, checkpoint);
      };
      await allDone(Array.from({ length: CHUNKS_IN_FLIGHT_MAX }, worker));
      const options: StatementOptions = { kind: 'write', operation: 'feed_write' };
      await writeRows(session, heads, options, HEADS_BYTES_MAX);
    },
    async listEndpoints(accountId) {
      const options = { kind: 'write', operation: 'webhook_account_write' } as const;
      await session.execute(LIST_ENDPOINTS, [bucketOf(accountId), accountId], options);
    },
    async withEndpoints(bucket) {
      const found: string[] = [];
      const options = { kind: 'read', operation: 'webhook_accounts_read' } as const;
      const paging = { ...options, pageRows: PAGE_ACCOUNTS };
      for await (const page of session.pages(WITH_ENDPOINTS, [bucket], paging)) {
        for (const row of page) found.push(String(row['account_id']));
      }
      return found;
    },
    ...indexPartsIn(session),
    async erase(accountId) {
      const options: StatementOptions = { kind: 'write', operation: 'feed_erase' };
      await eraseIndex(session, accountId);
      await session.execute(UNLIST, [LAST_VERSION, bucketOf(accountId), accountId], options);
      // The head is erased last. After an interruption, a repetition finds the same partitions.
      for (const part of await partsOf(accountId)) {
        await session.execute(ERASE_CHUNKS, [LAST_VERSION, accountId, part], options);
      }
      await session.execute(ERASE, [LAST_VERSION, bucketOf(accountId), accountId], options);
    },
  };
}

/** Stored parts of indexes. */
function indexPartsIn(session: CassandraSession): IndexStore {
  return {
    async putIndexPart(accountId, part, bytes, atMs) {
      const params = [accountId, part, bytes, BigInt(atMs) * MICROSECONDS];
      await session.execute(WRITE_INDEX_PART, params, { kind: 'write', operation: 'index_write' });
    },
    async indexPart(accountId, part) {
      const options = { kind: 'read', operation: 'index_read' } as const;
      const { rows } = await session.execute(READ_INDEX_PART, [accountId, part], options);
      return rows[0]?.['state'] ?? undefined;
    },
  };
}

async function eraseIndex(session: CassandraSession, accountId: string): Promise<void> {
  for (let part = 0; part < INDEX_PARTS; part += 1) {
    const params = [LAST_VERSION, accountId, part];
    await session.execute(ERASE_INDEX_PART, params, { kind: 'write', operation: 'index_erase' });
  }
}

const NO_ROWS = { next: 0 };

function undefinedIfCorrupt(error: unknown): undefined {
  if (!(error instanceof CorruptState)) throw error;
}

async function writeChunks(
  session: CassandraSession,
  { accountId, chunks }: FeedCheckpoint,
): Promise<void> {
  const writes = chunks.values().map((chunk): RowWrite => {
    const partition = partOf(chunk.chunk);
    const state = encodeFeedChunk(chunk);
    const timestamp = BigInt(chunk.rows.at(-1)?.[2] ?? 0) * MICROSECONDS;
    const params = [accountId, partition, BigInt(chunk.chunk), state, timestamp];
    return { partition, statement: { query: WRITE_CHUNK, params }, valueBytes: state.length };
  });
  await writeRows(session, writes, { kind: 'write', operation: 'feed_chunks_write' });
}

/** Partition of a chunk. */
function partOf(chunk: number): number {
  return Math.floor(chunk / PART_CHUNKS);
}
