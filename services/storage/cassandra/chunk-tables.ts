import { allDone, type RowWrite, writeRows } from '#storage/cassandra/row-batches';
import { bucketOf, rangesOf } from '#storage/cassandra/row-buckets';
import { decodeChunk, encodeChunk } from '#storage/cassandra/row-codec';
import type { CassandraSession, StatementOptions } from '#storage/cassandra/session';
import { rowsOfChunks } from '#storage/chunk-rows';
import {
  CHUNK_ROWS_MAX,
  type Chunk,
  type DriftRow,
  type HistoryRow,
  type InstanceHead,
} from '#storage/instance-store';
import { DRIFT_EVENTS, OBSERVATIONS, type RowReading } from '#storage/packed-rows';

/** Chunks of one page of a read: 4 MiB when every context has the largest size. */
const PAGE_CHUNKS = 512;

/** Deletions of buckets under way at once, of which an old instance may have hundreds. */
const DELETIONS_IN_FLIGHT_MAX = 8;

/** The table of observations. */
export const HISTORY = chunkTable<HistoryRow>('history', OBSERVATIONS);

/** The table of drift events: the same but for its name and what its rows are. */
export const DRIFT = chunkTable<DriftRow>('drift', DRIFT_EVENTS);

type ChunkTable<Row> = {
  readonly table: string;
  readonly packing: RowReading<Row>;
  readonly read: string;
  readonly write: string;
  readonly remove: string;
};

function chunkTable<Row>(table: string, packing: RowReading<Row>): ChunkTable<Row> {
  return {
    table,
    packing,
    read: `SELECT last_ordinal, chunk FROM ${table}
      WHERE instance_id = ? AND bucket = ? AND last_ordinal <= ? AND last_ordinal > ?`,
    write: `INSERT INTO ${table} (instance_id, bucket, last_ordinal, chunk) VALUES (?, ?, ?, ?)
      USING TIMESTAMP ?`,
    remove: `DELETE FROM ${table} USING TIMESTAMP ? WHERE instance_id = ? AND bucket = ?`,
  };
}

/** Rows of one table with ordinals from `newest` downwards, at most `count`, newest first. */
export async function readRows<Row extends { readonly ordinal: number }>(
  session: CassandraSession,
  { read, table, packing }: ChunkTable<Row>,
  instanceId: string,
  newest: number,
  count: number,
): Promise<Row[]> {
  if (newest <= 0 || count <= 0) return [];
  const chunks: Chunk[] = [];
  // The chunk with the newest row may end as far above it as chunks are long.
  const beyond = CHUNK_ROWS_MAX - 1;
  for (const range of rangesOf(newest + beyond, count + beyond)) {
    const params = [instanceId, range.bucket, BigInt(range.newest), BigInt(range.after)];
    const options: StatementOptions = { kind: 'read', operation: `${table}_read` };
    for await (const page of session.pages(read, params, { ...options, pageRows: PAGE_CHUNKS })) {
      for (const row of page) {
        const last = Number(row['last_ordinal']);
        chunks.push(decodeChunk(packing.name, instanceId, last, row['chunk']));
      }
    }
  }
  return rowsOfChunks(packing, instanceId, chunks, newest, count);
}

/** Writes chunks of both tables, each in their order: `rowsOfChunks` depends on it. */
export async function writeChunks(
  session: CassandraSession,
  instanceId: string,
  { version }: InstanceHead,
  history: readonly Chunk[],
  drift: readonly Chunk[],
): Promise<void> {
  const writesTo = ({ write, table }: ChunkTable<unknown>, chunks: readonly Chunk[]) => {
    const writes = chunks.values().map((chunk): RowWrite => {
      const partition = bucketOf(chunk.last);
      const value = encodeChunk(chunk);
      const params = [instanceId, partition, BigInt(chunk.last), value, BigInt(version)];
      return { partition, statement: { query: write, params }, valueBytes: value.length };
    });
    return writeRows(session, writes, { kind: 'write', operation: `${table}_write` });
  };
  await allDone([writesTo(HISTORY, history), writesTo(DRIFT, drift)]);
}

/** Removes every chunk of a deleted instance, as of the version of its deletion. */
export async function deleteChunks(
  session: CassandraSession,
  instanceId: string,
  { version, historyCount, driftCount }: InstanceHead,
): Promise<void> {
  const deletionsFrom = ({ table, remove }: ChunkTable<unknown>, count: number) =>
    Array.from({ length: bucketOf(count) + 1 }, (_, bucket) => ({
      query: remove,
      params: [BigInt(version), instanceId, bucket],
      operation: `${table}_delete`,
    }));
  const history = deletionsFrom(HISTORY, historyCount);
  const deletions = [...history, ...deletionsFrom(DRIFT, driftCount)].values();
  const worker = async (): Promise<void> => {
    for (const { query, params, operation } of deletions) {
      await session.execute(query, params, { kind: 'write', operation });
    }
  };
  await allDone(Array.from({ length: DELETIONS_IN_FLIGHT_MAX }, worker));
}
