import { hash } from 'node:crypto';
import type { types } from 'cassandra-driver';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import type { CassandraSession, StatementOptions } from '#storage/cassandra/session';
import { MARKER_AGE_MS } from '#storage/ports/instances';
import {
  type ListedInstance,
  type ListingRow,
  listingBudget,
  type PagedListings,
} from '#storage/ports/listings';

/**
 * Partitions of an account's listing. Must never change, because the bucket is part of the storage
 * key. Source: architecture 3.6.
 */
const BUCKETS = 64;

/** Maximum number of buckets read in parallel. For 200,000 instances, a bucket has 3,000 rows. */
const READS_IN_FLIGHT_MAX = 8;

/** Maximum number of rows in a page (about 1 MiB). */
const PAGE_ROWS = 2_000;

const READ_OPTIONS: StatementOptions = {
  kind: 'read',
  operation: 'listing_read',
  pageRows: PAGE_ROWS,
};

const COLUMNS = 'instance_id, version, name, description, created_at_ms, is_removed';
const LOAD = `SELECT ${COLUMNS} FROM listings WHERE account_id = ? AND bucket = ?`;
const LISTED = `SELECT instance_id, version, name, created_at_ms, is_removed FROM listings
  WHERE account_id = ? AND bucket = ?`;
const FIND = `${LOAD} AND instance_id = ?`;
const WRITE = `INSERT INTO listings (account_id, bucket, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  USING TIMESTAMP ?`;
const WRITE_REMOVED = `${WRITE} AND TTL ${MARKER_AGE_MS / 1_000}`;

/**
 * Listings in Cassandra. The timestamp of a write is the instance's version. The higher version
 * therefore wins, even if writes arrive late or twice (architecture 3.2).
 */
export function cassandraListingStore(session: CassandraSession): PagedListings {
  return {
    put: (accountId, row) => write(session, accountId, row, false),
    remove: (accountId, instanceId, version) => {
      const row = { instanceId, version, name: '', description: '', createdAtMs: 0 };
      return write(session, accountId, row, true);
    },
    listed: (accountId, bytesMax) => {
      const spend = listingBudget(bytesMax);
      return load(session, accountId, LISTED, (row) => {
        const listed = listedFrom(row);
        spend(listed);
        return listed;
      });
    },
    find: async (accountId, instanceId) => {
      const key = [accountId, bucketOf(instanceId), instanceId];
      const { rows } = await session.execute(FIND, key, {
        kind: 'read',
        operation: 'listing_find',
      });
      const [row] = rows;
      return row === undefined || row['is_removed'] === true ? undefined : rowFrom(row);
    },
    pages: (accountId) => pagesOf(session, accountId),
    load: (accountId) => load(session, accountId, LOAD, rowFrom),
  };
}

async function write(
  session: CassandraSession,
  accountId: string,
  { instanceId, version, name, description, createdAtMs }: ListingRow,
  isRemoved: boolean,
): Promise<void> {
  const values = [name, description, BigInt(createdAtMs), isRemoved];
  const timestamp = BigInt(version);
  const key = [accountId, bucketOf(instanceId), instanceId];
  const options: StatementOptions = { kind: 'write', operation: 'listing_write' };
  const query = isRemoved ? WRITE_REMOVED : WRITE;
  await session.execute(query, [...key, timestamp, ...values, timestamp], options);
}

/** Rows of an account, bucket by bucket. Within a bucket, rows are ordered by id. */
async function* pagesOf(
  session: CassandraSession,
  accountId: string,
): AsyncGenerator<readonly ListingRow[]> {
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
    for await (const page of session.pages(LOAD, [accountId, bucket], READ_OPTIONS)) {
      const rows = page.filter((row) => row['is_removed'] !== true).map(rowFrom);
      if (rows.length > 0) yield rows;
    }
  }
}

async function load<Row>(
  session: CassandraSession,
  accountId: string,
  query: string,
  read: (row: types.Row) => Row,
): Promise<Row[]> {
  const found: Row[] = [];
  const buckets = Array.from({ length: BUCKETS }, (_, bucket) => bucket);
  await forEachConcurrently(buckets, READS_IN_FLIGHT_MAX, async (bucket) => {
    for await (const page of session.pages(query, [accountId, bucket], READ_OPTIONS)) {
      for (const row of page) if (row['is_removed'] !== true) found.push(read(row));
    }
  });
  return found;
}

function rowFrom(row: types.Row): ListingRow {
  return { ...listedFrom(row), description: row['description'] };
}

function listedFrom(row: types.Row): ListedInstance {
  return {
    instanceId: row['instance_id'],
    version: Number(row['version']),
    name: row['name'],
    createdAtMs: Number(row['created_at_ms']),
  };
}

/** Bucket of an instance. The hash spreads instances evenly, even if ids are not random. */
function bucketOf(instanceId: string): number {
  return hash('sha1', instanceId, 'buffer').readUInt8(0) % BUCKETS;
}
