import type { CassandraSession, StatementOptions } from '#storage/cassandra/session';
import { allDone, type RowWrite, writeRows } from '#storage/cassandra/statements';
import {
  chunksAbove,
  decodeChunk,
  encodeChunk,
  ROWS_BEYOND_MAX,
  rowsOfChunks,
} from '#storage/ports/chunks';
import {
  type Chunk,
  type DriftRow,
  type HeldHead,
  type HistoryRow,
  type RowCounts,
  trimmedOf,
} from '#storage/ports/instances';
import { DRIFT_EVENTS, OBSERVATIONS, type Packing } from '#storage/ports/rows';

/** Maximum number of chunks in a page: 4 MiB if every context has the maximum size. */
const PAGE_CHUNKS = 512;

/** Maximum number of parallel bucket deletions. An old instance may have hundreds of buckets. */
const DELETIONS_IN_FLIGHT_MAX = 8;

/** Table of observations. */
export const HISTORY = chunkTable<HistoryRow>('history', OBSERVATIONS);

/** Table of drift events, with the same statements under another table name. */
export const DRIFT = chunkTable<DriftRow>('drift', DRIFT_EVENTS);

type ChunkTable<Row> = Statements & { readonly packing: Packing<Row> };

type Statements = {
  readonly table: string;
  readonly read: string;
  readonly readUp: string;
  readonly write: string;
  readonly remove: string;
  readonly trim: string;
};

function chunkTable<Row>(table: string, packing: Packing<Row>): ChunkTable<Row> {
  const read = `SELECT last_ordinal, chunk FROM ${table}
    WHERE instance_id = ? AND bucket = ? AND last_ordinal <= ? AND last_ordinal > ?`;
  return {
    table,
    packing,
    read,
    readUp: `${read} ORDER BY last_ordinal ASC`,
    write: `INSERT INTO ${table} (instance_id, bucket, last_ordinal, chunk) VALUES (?, ?, ?, ?)
      USING TIMESTAMP ?`,
    remove: `DELETE FROM ${table} USING TIMESTAMP ? WHERE instance_id = ? AND bucket = ?`,
    trim: `DELETE FROM ${table} USING TIMESTAMP ?
      WHERE instance_id = ? AND bucket = ? AND last_ordinal <= ?`,
  };
}

/** Rows of a table with ordinals from `newest` down, at most `count`, newest first. */
export async function readRows<Row extends { readonly ordinal: number }>(
  session: CassandraSession,
  table: ChunkTable<Row>,
  instanceId: string,
  newest: number,
  count: number,
): Promise<Row[]> {
  if (newest <= 0 || count <= 0) return [];
  // The chunk with the newest row may end up to `ROWS_BEYOND_MAX` rows later.
  const chunks = await readChunks(
    session,
    table,
    instanceId,
    newest + ROWS_BEYOND_MAX,
    count + ROWS_BEYOND_MAX,
  );
  return rowsOfChunks(table.packing, instanceId, chunks, newest, count);
}

/** Chunks whose last ordinal is among the `count` ordinals from `newest` down, newest first. */
async function readChunks<Row>(
  session: CassandraSession,
  { read, table, packing }: ChunkTable<Row>,
  instanceId: string,
  newest: number,
  count: number,
): Promise<Chunk[]> {
  const chunks: Chunk[] = [];
  for (const range of rangesOf(newest, count)) {
    const pages = chunksIn(session, { query: read, table, packing }, instanceId, range);
    for await (const page of pages) chunks.push(...page);
  }
  return chunks;
}

/** Chunks whose last ordinal is above `after` and at most `newest`, oldest first, in pages. */
export async function* chunkPages<Row>(
  session: CassandraSession,
  { readUp, table, packing }: ChunkTable<Row>,
  instanceId: string,
  after: number,
  newest: number,
): AsyncGenerator<readonly Chunk[]> {
  for (const range of rangesOf(newest, newest - after).reverse()) {
    yield* chunksIn(session, { query: readUp, table, packing }, instanceId, range);
  }
}

async function* chunksIn<Row>(
  session: CassandraSession,
  {
    query,
    table,
    packing,
  }: Pick<ChunkTable<Row>, 'table' | 'packing'> & { readonly query: string },
  instanceId: string,
  { bucket, newest, after }: BucketRange,
): AsyncGenerator<readonly Chunk[]> {
  const params = [instanceId, bucket, BigInt(newest), BigInt(after)];
  const options: StatementOptions = { kind: 'read', operation: `${table}_read` };
  for await (const page of session.pages(query, params, { ...options, pageRows: PAGE_CHUNKS })) {
    yield page.map((row) => {
      const last = Number(row['last_ordinal']);
      return decodeChunk(packing.name, instanceId, last, row['chunk']);
    });
  }
}

/** Writes chunks of both tables in the given order, on which `rowsOfChunks` depends. */
export async function writeChunks(
  session: CassandraSession,
  instanceId: string,
  { version }: HeldHead,
  history: readonly Chunk[],
  drift: readonly Chunk[],
): Promise<void> {
  const writesTo = (table: Statements, chunks: readonly Chunk[]) =>
    writeTo(session, table, instanceId, version, chunks);
  await allDone([writesTo(HISTORY, history), writesTo(DRIFT, drift)]);
}

async function writeTo(
  session: CassandraSession,
  { write, table }: Statements,
  instanceId: string,
  version: number,
  chunks: readonly Chunk[],
): Promise<void> {
  const writes = chunks.values().map((chunk): RowWrite => {
    const partition = bucketOf(chunk.last);
    const value = encodeChunk(chunk);
    const params = [instanceId, partition, BigInt(chunk.last), value, BigInt(version)];
    return { partition, statement: { query: write, params }, valueBytes: value.length };
  });
  await writeRows(session, writes, { kind: 'write', operation: `${table}_write` });
}

/** Deletes all chunks of a deleted instance, with the version of the deletion as timestamp. */
export async function deleteChunks(
  session: CassandraSession,
  instanceId: string,
  { version, historyCount, driftCount }: HeldHead,
): Promise<void> {
  const deletionsFrom = ({ table, remove }: Statements, count: number) =>
    Array.from({ length: bucketOf(count) + 1 }, (_, bucket) => ({
      query: remove,
      params: [BigInt(version), instanceId, bucket],
      operation: `${table}_delete`,
    }));
  await deleteAll(session, [
    ...deletionsFrom(HISTORY, historyCount),
    ...deletionsFrom(DRIFT, driftCount),
  ]);
}

/**
 * Deletes the rows up to the floor of a head, with the head's version as timestamp. Rows up to
 * `from` have been deleted before.
 */
export async function trimChunks(
  session: CassandraSession,
  instanceId: string,
  head: HeldHead,
  from: RowCounts,
): Promise<void> {
  const floor = trimmedOf(head);
  const { version } = head;
  await allDone([
    trim(session, HISTORY, instanceId, version, from.history, floor.history),
    trim(session, DRIFT, instanceId, version, from.drift, floor.drift),
  ]);
}

async function trim<Row extends { readonly ordinal: number }>(
  session: CassandraSession,
  table: ChunkTable<Row>,
  instanceId: string,
  version: number,
  from: number,
  floor: number,
): Promise<void> {
  if (floor <= from) return;
  const first = bucketOf(from + 1);
  const last = bucketOf(floor);
  const operation = `${table.table}_delete`;
  const whole = Array.from({ length: last - first }, (_, index) => ({
    query: table.remove,
    params: [BigInt(version), instanceId, first + index],
    operation,
  }));
  const part = { query: table.trim, params: [BigInt(version), instanceId, last, BigInt(floor)] };
  await deleteAll(session, [...whole, { ...part, operation }]);
  const around = await readChunks(
    session,
    table,
    instanceId,
    floor + ROWS_BEYOND_MAX,
    ROWS_BEYOND_MAX,
  );
  const cut = chunksAbove(table.packing, instanceId, around, floor);
  await writeTo(session, table, instanceId, version, cut);
}

type Deletion = { readonly query: string; readonly params: unknown[]; readonly operation: string };

async function deleteAll(session: CassandraSession, all: readonly Deletion[]): Promise<void> {
  const waiting = all.values();
  const worker = async (): Promise<void> => {
    for (const { query, params, operation } of waiting) {
      await session.execute(query, params, { kind: 'write', operation });
    }
  };
  await allDone(Array.from({ length: DELETIONS_IN_FLIGHT_MAX }, worker));
}

/**
 * Rows per partition of history or drift. Must never change, because the bucket is part of the
 * storage key.
 */
export const BUCKET_ROWS = 4_096;

/** Bucket of the row with this ordinal. Ordinals begin at 1, buckets at 0. */
export function bucketOf(ordinal: number): number {
  return Math.floor((ordinal - 1) / BUCKET_ROWS);
}

/** Range of ordinals in one bucket: above `after`, up to `newest`. */
type BucketRange = {
  readonly bucket: number;
  readonly newest: number;
  readonly after: number;
};

/** Ranges of the `count` ordinals from `newest` down, one per bucket, newest first. */
export function rangesOf(newest: number, count: number): BucketRange[] {
  const last = Math.max(0, newest - Math.max(0, count));
  const ranges: BucketRange[] = [];
  for (let top = newest; top > last; ) {
    const bucket = bucketOf(top);
    const after = Math.max(last, bucket * BUCKET_ROWS);
    ranges.push({ bucket, newest: top, after });
    top = after;
  }
  return ranges;
}
