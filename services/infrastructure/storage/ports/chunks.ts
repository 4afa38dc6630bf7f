import { ByteWriter, readerOf } from '#storage/ports/bytes';
import {
  CHUNK_ROWS_MAX,
  type Chunk,
  type DriftRow,
  type HeldHead,
  type HistoryRow,
  type InstanceStore,
  type NewestRows,
} from '#storage/ports/instances';
import {
  DRIFT_EVENTS,
  OBSERVATIONS,
  type Packing,
  type RowReading,
  unpacked,
} from '#storage/ports/rows';

/*
 * Each chunk is stored as a single value, without its key. In the server, the overhead of a cell is
 * larger than its bytes. A single value also cannot mix the bytes of two writes.
 */

/**
 * Format number in the first byte of every stored row. Any change of a layout below needs a new
 * format number.
 */
const FORMAT = 2;

const writer = new ByteWriter();

/** Encodes a chunk without its last ordinal. The result has 17 bytes more than the rows. */
export function encodeChunk({ first, rows }: Chunk): Buffer {
  return writer.begin(FORMAT).number(first).part(rows).end();
}

/** Decodes a stored chunk; `name` is the name of its rows. Throws `CorruptState`. */
export function decodeChunk(name: string, instanceId: string, last: number, bytes: unknown): Chunk {
  const what = `the chunk of ${name}s up to ${last} of ${instanceId}`;
  const reader = readerOf(bytes, FORMAT, what);
  const chunk = { first: reader.number(), last, rows: reader.part() };
  reader.end();
  return chunk;
}

/** Maximum distance from a row to the end of its chunk, in rows. */
export const ROWS_BEYOND_MAX = CHUNK_ROWS_MAX - 1;

/**
 * Rows with ordinals from `newest` down, at most `count`, newest first. `chunks` must be ordered by
 * `last`, highest first.
 *
 * Chunks may overlap. If a node stops between writing a chunk and its head, its successor writes
 * the rows again. A successor of another program version may divide the rows differently. Each row
 * is taken from the first chunk that contains the row, because the content of an ordinal is always
 * the same.
 *
 * No row is lost. Before a node writes a chunk, the store has confirmed all rows below the chunk's
 * `first`. If the chunk replaces a chunk with a lower `first`, the rows below its own `first` are
 * therefore in other chunks. Trimmed chunks (`chunksAbove`) are the exception: nobody requests rows
 * below their `first`.
 */
export function rowsOfChunks<Row extends { readonly ordinal: number }>(
  packing: RowReading<Row>,
  instanceId: string,
  chunks: Iterable<Chunk>,
  newest: number,
  count: number,
): Row[] {
  const found: Row[] = [];
  const end = Math.max(0, newest - count);
  let next = newest;
  for (const { first, last, rows } of chunks) {
    if (first > next || last <= end) continue;
    const own = unpacked(packing, instanceId, rows, first, last);
    for (const row of own.reverse()) {
      if (row.ordinal > next || row.ordinal <= end) continue;
      found.push(row);
      next = row.ordinal - 1;
    }
  }
  return found;
}

/** Rows of a head, oldest first. `last` is the number of rows that the instance ever had. */
export function newestRows<Row>(
  packing: RowReading<Row>,
  instanceId: string,
  { after, rows }: NewestRows,
  last: number,
): Row[] {
  return unpacked(packing, instanceId, rows, after + 1, last);
}

/** Newest rows without the rows up to the ordinal `floor`. */
export function newestAbove<Row extends { readonly ordinal: number }>(
  packing: Packing<Row>,
  instanceId: string,
  newest: NewestRows,
  last: number,
  floor: number,
): NewestRows {
  if (floor <= newest.after) return newest;
  const rows = newestRows(packing, instanceId, newest, last);
  return { after: floor, rows: packedAbove(packing, rows, floor) };
}

/** Chunks that contain rows on both sides of `floor`, reduced to the rows above `floor`. */
export function chunksAbove<Row extends { readonly ordinal: number }>(
  packing: Packing<Row>,
  instanceId: string,
  chunks: Iterable<Chunk>,
  floor: number,
): Chunk[] {
  const cut: Chunk[] = [];
  for (const { first, last, rows } of chunks) {
    if (first > floor || last <= floor) continue;
    const own = unpacked(packing, instanceId, rows, first, last);
    cut.push({ first: floor + 1, last, rows: packedAbove(packing, own, floor) });
  }
  return cut;
}

function packedAbove<Row extends { readonly ordinal: number }>(
  { pack }: Packing<Row>,
  rows: readonly Row[],
  floor: number,
): string {
  return rows
    .filter(({ ordinal }) => ordinal > floor)
    .map(pack)
    .join('');
}

/** Range of wanted rows: ordinals from `newest` down, at most `count`. */
type Wanted = { readonly newest: number; readonly count: number };

/**
 * Stored observations of an instance, newest first: the rows of its head, then rows of chunks.
 * Rejects as the store does.
 */
export async function storedHistory(
  store: Pick<InstanceStore, 'readHistory'>,
  instanceId: string,
  { newestHistory, historyCount }: HeldHead,
  wanted: Wanted,
): Promise<HistoryRow[]> {
  const inHead = newestRows(OBSERVATIONS, instanceId, newestHistory, historyCount);
  return joined(inHead, newestHistory.after, wanted, (newest, count) =>
    store.readHistory(instanceId, newest, count),
  );
}

/** Stored drift events of an instance, as `storedHistory` returns observations. */
export async function storedDrift(
  store: Pick<InstanceStore, 'readDrift'>,
  instanceId: string,
  { newestDrift, driftCount }: HeldHead,
  wanted: Wanted,
): Promise<DriftRow[]> {
  const inHead = newestRows(DRIFT_EVENTS, instanceId, newestDrift, driftCount);
  return joined(inHead, newestDrift.after, wanted, (newest, count) =>
    store.readDrift(instanceId, newest, count),
  );
}

async function joined<Row extends { readonly ordinal: number }>(
  inHead: readonly Row[],
  after: number,
  { newest, count }: Wanted,
  readChunks: (newest: number, count: number) => Promise<Row[]>,
): Promise<Row[]> {
  const end = newest - count;
  const top = inHead.filter(({ ordinal }) => ordinal <= newest && ordinal > end).reverse();
  const below = Math.min(newest, after);
  return below <= end ? top : [...top, ...(await readChunks(below, below - end))];
}
