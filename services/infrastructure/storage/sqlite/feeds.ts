import assert from 'node:assert/strict';
import {
  chunkOf,
  decodeFeedChunk,
  decodeFeedHead,
  encodeFeedChunk,
  encodeFeedHead,
} from '#storage/ports/feed-codec';
import {
  type ErasableFeeds,
  FEED_ROWS_MAX,
  type FeedCheckpoint,
  type IndexStore,
} from '#storage/ports/feeds';
import { type BucketOf, HEADS_MAX } from '#storage/ports/instances';
import type { SqliteDatabase, SqlValue, Statement } from '#storage/sqlite/database';
import { bytesIn, CheckedTable, textIn, wholeIn } from '#storage/sqlite/tables';

const FEEDS = new CheckedTable({
  name: 'feeds',
  keys: ['bucket', 'account_id'],
  others: ['version', 'state'],
  part: 'bucket',
});
const CHUNKS = new CheckedTable({
  name: 'feed_chunks',
  keys: ['account_id', 'chunk'],
  others: ['state'],
  part: 'account_id',
});

const WITH_ENDPOINTS = new CheckedTable({
  name: 'webhook_accounts',
  keys: ['bucket', 'account_id'],
  others: [],
  part: 'bucket',
});

const INDEX_PARTS = new CheckedTable({
  name: 'index_parts',
  keys: ['account_id', 'part'],
  others: ['state'],
});

const WITH_ENDPOINTS_IN_BUCKET = WITH_ENDPOINTS.select('WHERE bucket = ?');

const CHUNKS_IN_RANGE = CHUNKS.select(
  'WHERE account_id = ? AND chunk >= ? AND chunk <= ? ORDER BY chunk',
);

const NOT_ERASED = `NOT EXISTS
  (SELECT 1 FROM feeds WHERE bucket = ? AND account_id = ? AND state IS NULL)`;

/** Selects the oldest chunks of an account below a number, up to a limit. */
const OLDEST_BELOW = `account_id = ? AND chunk IN
  (SELECT chunk FROM feed_chunks WHERE account_id = ? AND chunk < ? ORDER BY chunk LIMIT ?)`;

/**
 * Maximum number of chunks that one transaction deletes, besides the number of chunks that it
 * writes. Other writes wait some milliseconds for the transaction.
 */
const PORTION_CHUNKS = 256;

/** Version of an erased feed, above every version that a feed can reach. */
const LAST_VERSION = Number.MAX_SAFE_INTEGER;

/**
 * Feeds in an SQLite file. An erased feed leaves a tombstone: a row without a state, with
 * `LAST_VERSION`. A checkpoint deletes chunks below the floor of its head, in portions. Reads throw
 * `CorruptState` for a damaged row. The caller closes `database`.
 */
export function sqliteFeedStore(database: SqliteDatabase, bucketOf: BucketOf): ErasableFeeds {
  const keyOf = (accountId: string) => [bucketOf(accountId), accountId];

  function statementsOf({ accountId, head, chunks }: FeedCheckpoint): Statement[] {
    const where = { condition: NOT_ERASED, values: keyOf(accountId) };
    const puts = chunks.map((chunk) =>
      CHUNKS.put([accountId, chunk.chunk, encodeFeedChunk(chunk)], { where }),
    );
    const portion = PORTION_CHUNKS + chunks.length;
    const below = [accountId, accountId, chunkOf(head.floor), portion];
    const row = [...keyOf(accountId), head.version, encodeFeedHead(head)];
    return [
      ...puts,
      CHUNKS.delete(OLDEST_BELOW, below),
      FEEDS.put(row, { unlessHigher: 'version' }),
    ];
  }

  async function countOfChunks(accountId: string): Promise<number> {
    const sql = 'SELECT count(*) FROM feed_chunks WHERE account_id = ?';
    const query = { operation: 'feed_chunks_count', sql, values: [accountId] };
    const [row] = await database.read(query);
    return Number(row?.[0]);
  }

  return {
    rowsMax: FEED_ROWS_MAX,
    bucketOf,
    async readHead(accountId) {
      const row = await FEEDS.find(database, 'feed_read', keyOf(accountId));
      if (row === undefined || row[3] === null) return undefined;
      return decodeFeedHead(accountId, bytesIn(row, 3));
    },
    async readChunks(accountId, first, last) {
      const values = [accountId, first, last];
      const query = { operation: 'feed_chunks_read', sql: CHUNKS_IN_RANGE, values };
      const rows = await CHUNKS.read(database, query);
      if (rows.length <= last - first) await CHUNKS.assertWhole(database, accountId);
      return rows.map((row) => decodeFeedChunk(accountId, wholeIn(row, 1), bytesIn(row, 2)));
    },
    async checkpoint(checkpoints) {
      assert(checkpoints.length <= HEADS_MAX, `more than ${HEADS_MAX} feeds at once`);
      const statements = checkpoints.flatMap(statementsOf);
      await database.write({ operation: 'feed_write', statements });
    },
    async listEndpoints(accountId) {
      const where = { condition: NOT_ERASED, values: keyOf(accountId) };
      const statements = [WITH_ENDPOINTS.put(keyOf(accountId), { where })];
      await database.write({ operation: 'webhook_account_write', statements });
    },
    async withEndpoints(bucket) {
      const sql = WITH_ENDPOINTS_IN_BUCKET;
      const query = { operation: 'webhook_accounts_read', sql, values: [bucket] };
      const rows = await WITH_ENDPOINTS.read(database, query);
      await WITH_ENDPOINTS.assertWhole(database, bucket);
      return rows.map((row) => textIn(row, 1));
    },
    ...indexPartsIn(database, keyOf),
    async erase(accountId) {
      // The tombstone is written first. No chunk is added after it.
      const tombstone = FEEDS.put([...keyOf(accountId), LAST_VERSION, null]);
      const unlisted = WITH_ENDPOINTS.delete('bucket = ? AND account_id = ?', keyOf(accountId));
      const parts = INDEX_PARTS.delete('account_id = ?', [accountId]);
      await database.write({ operation: 'feed_erase', statements: [tombstone, unlisted, parts] });
      const below = [accountId, accountId, LAST_VERSION, PORTION_CHUNKS];
      const statements = [CHUNKS.delete(OLDEST_BELOW, below)];
      for (let left = await countOfChunks(accountId); left > 0; left -= PORTION_CHUNKS) {
        await database.write({ operation: 'feed_chunks_erase', statements });
      }
    },
  };
}

/** Stored parts of indexes. `keyOf`: key of an account's feed. */
function indexPartsIn(database: SqliteDatabase, keyOf: (id: string) => SqlValue[]): IndexStore {
  return {
    async putIndexPart(accountId, part, bytes) {
      const where = { condition: NOT_ERASED, values: keyOf(accountId) };
      const statements = [INDEX_PARTS.put([accountId, part, bytes], { where })];
      await database.write({ operation: 'index_write', statements });
    },
    async indexPart(accountId, part) {
      const row = await INDEX_PARTS.find(database, 'index_read', [accountId, part]);
      return row && bytesIn(row, 2);
    },
  };
}
