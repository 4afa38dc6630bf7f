import { CorruptState } from '#storage/ports/bytes';
import {
  chunksAbove,
  decodeChunk,
  encodeChunk,
  ROWS_BEYOND_MAX,
  rowsOfChunks,
} from '#storage/ports/chunks';
import type { Chunk, DriftRow, HistoryRow } from '#storage/ports/instances';
import { DRIFT_EVENTS, OBSERVATIONS, type Packing } from '#storage/ports/rows';
import type {
  SqliteDatabase,
  SqlValue,
  Statement,
  Row as StoredRow,
} from '#storage/sqlite/database';
import { bytesIn, CheckedTable, type Condition, rowPages, wholeIn } from '#storage/sqlite/tables';

/** Maximum number of chunks in a page: 4 MiB if every context has the maximum size. */
const PAGE_CHUNKS = 512;

/** Table of chunks, and how its rows are packed. */
type ChunkTable<Row> = {
  readonly name: string;
  readonly packing: Packing<Row>;
  readonly table: CheckedTable;
};

/** Table of observations. */
export const HISTORY: ChunkTable<HistoryRow> = chunkTable('history', OBSERVATIONS);

/** Table of drift events. */
export const DRIFT: ChunkTable<DriftRow> = chunkTable('drift', DRIFT_EVENTS);

function chunkTable<Row>(name: string, packing: Packing<Row>): ChunkTable<Row> {
  const shape = { name, keys: ['instance_id', 'last_ordinal'], others: ['chunk'] };
  return { name, packing, table: new CheckedTable(shape) };
}

/**
 * Rows of a table with ordinals from `newest` down, at most `count`, newest first. Throws
 * `CorruptState` for a gap between rows.
 */
export async function readRows<Row extends { readonly ordinal: number }>(
  database: SqliteDatabase,
  table: ChunkTable<Row>,
  instanceId: string,
  newest: number,
  count: number,
): Promise<Row[]> {
  if (newest <= 0 || count <= 0) return [];
  const chunks = await readChunks(
    database,
    table,
    instanceId,
    newest + ROWS_BEYOND_MAX,
    newest - count,
  );
  const rows = rowsOfChunks(table.packing, instanceId, chunks, newest, count);
  const first = rows[0]?.ordinal ?? 0;
  const gap = rows.findIndex(({ ordinal }, index) => ordinal !== first - index);
  if (gap !== -1) throw new CorruptState(`rows in the ${table.name} of ${instanceId} are missing`);
  return rows;
}

/** Chunks whose last ordinal is above `after` and at most `newest`, newest first. */
async function readChunks<Row>(
  database: SqliteDatabase,
  { name, packing, table }: ChunkTable<Row>,
  instanceId: string,
  newest: number,
  after: number,
): Promise<Chunk[]> {
  const sql = table.select(
    'WHERE instance_id = ? AND last_ordinal <= ? AND last_ordinal > ? ORDER BY last_ordinal DESC',
  );
  const values = [instanceId, newest, after];
  const rows = await database.read({ operation: `${name}_read`, sql, values });
  return chunksIn({ packing, table }, instanceId, rows);
}

function chunksIn<Row>(
  { packing, table }: Pick<ChunkTable<Row>, 'packing' | 'table'>,
  instanceId: string,
  rows: readonly StoredRow[],
): Chunk[] {
  return table.rowsOf(rows).map((row) => {
    return decodeChunk(packing.name, instanceId, wholeIn(row, 1), bytesIn(row, 2));
  });
}

/** Chunks whose last ordinal is above `after` and at most `newest`, oldest first, in pages. */
export async function* chunkPages<Row>(
  database: SqliteDatabase,
  { name, packing, table }: ChunkTable<Row>,
  instanceId: string,
  after: number,
  newest: number,
): AsyncGenerator<readonly Chunk[]> {
  const sql = table.select(
    `WHERE instance_id = ? AND last_ordinal > ? AND last_ordinal <= ?
      ORDER BY last_ordinal LIMIT ${PAGE_CHUNKS}`,
  );
  const paging = { operation: `${name}_read`, sql, pageRows: PAGE_CHUNKS };
  const valuesAfter = (done: SqlValue) => [instanceId, done, newest];
  for await (const rows of rowPages(database, {
    ...paging,
    valuesAfter,
    start: after,
    column: 1,
  })) {
    yield chunksIn({ packing, table }, instanceId, rows);
  }
}

/** Statements that write chunks in the given order, on which `rowsOfChunks` depends. */
export function writesOfChunks<Row>(
  { table }: ChunkTable<Row>,
  instanceId: string,
  chunks: readonly Chunk[],
  where: Condition,
): Statement[] {
  return chunks.map((chunk) => table.put([instanceId, chunk.last, encodeChunk(chunk)], { where }));
}

/** Statement that deletes all chunks of an instance. */
export function deletionOfChunks<Row>(
  { table }: ChunkTable<Row>,
  instanceId: string,
  where: Condition,
): Statement {
  return table.delete(`instance_id = ? AND ${where.condition}`, [instanceId, ...where.values]);
}

/**
 * Statements that delete the rows up to the ordinal `floor`. Chunks with rows on both sides of
 * `floor` are reduced, including the chunks `written` by the same transaction.
 */
export async function trimOfChunks<Row extends { readonly ordinal: number }>(
  database: SqliteDatabase,
  chunkTable: ChunkTable<Row>,
  instanceId: string,
  written: readonly Chunk[],
  floor: number,
  where: Condition,
): Promise<Statement[]> {
  const stored = await readChunks(database, chunkTable, instanceId, floor + ROWS_BEYOND_MAX, floor);
  const around = new Map([...stored, ...written].map((chunk) => [chunk.last, chunk]));
  const cut = chunksAbove(chunkTable.packing, instanceId, around.values(), floor);
  const condition = `instance_id = ? AND last_ordinal <= ? AND ${where.condition}`;
  const values = [instanceId, floor, ...where.values];
  return [
    chunkTable.table.delete(condition, values),
    ...writesOfChunks(chunkTable, instanceId, cut, where),
  ];
}
