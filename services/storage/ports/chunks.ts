import { ByteWriter, readerOf } from '#storage/ports/bytes';
import {
  type AnswerRow,
  CHUNK_ROWS_MAX,
  type Chunk,
  type DriftRow,
  type HistoryRow,
  type InstanceHead,
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
 * Chunks and answers as one value each, without what stands in their keys: a cell costs the server
 * more than the bytes in it, and one value cannot be half of one write and half of another.
 */

/** What the first byte of every stored row says. A change of a layout below is another format. */
const FORMAT = 2;

const writer = new ByteWriter();

/** A chunk as it is stored, without its last ordinal: what its rows take and 17 bytes. */
export function encodeChunk({ first, rows }: Chunk): Buffer {
  return writer.begin(FORMAT).number(first).part(rows).end();
}

/** A chunk from its stored bytes; `name` is what its rows are called. Throws `CorruptState`. */
export function decodeChunk(name: string, instanceId: string, last: number, bytes: unknown): Chunk {
  const what = `the chunk of ${name}s up to ${last} of ${instanceId}`;
  const reader = readerOf(bytes, FORMAT, what);
  const chunk = { first: reader.number(), last, rows: reader.part() };
  reader.end();
  return chunk;
}

/** A stored answer without its key. */
export function encodeAnswerRow(row: AnswerRow): Buffer {
  return writer
    .begin(FORMAT)
    .number(row.atMs)
    .text(row.fingerprint)
    .text(row.etag)
    .text(row.body)
    .end();
}

/** A stored answer from its bytes. Throws `CorruptState`. */
export function decodeAnswerRow(instanceId: string, key: string, bytes: unknown): AnswerRow {
  const reader = readerOf(bytes, FORMAT, `the answer to ${key} of ${instanceId}`);
  const row: AnswerRow = {
    key,
    atMs: reader.number(),
    fingerprint: reader.text(),
    etag: reader.text(),
    body: reader.text(),
  };
  reader.end();
  return row;
}

/** How far above a row its chunk may end. */
export const ROWS_BEYOND_MAX = CHUNK_ROWS_MAX - 1;

/**
 * Of chunks, the highest `last` first, the rows with ordinals from `newest` downwards, at most
 * `count`, newest first.
 *
 * Chunks may overlap: a node that ended between a chunk and its head leaves one that its successor
 * writes again, and a successor of another version of this program may cut elsewhere. Each row is
 * taken from the first chunk that has it, because the content of an ordinal is the same in all. None
 * is missing: who writes the chunk up to `last` has had everything below its `first` confirmed, so
 * that a chunk in whose place it comes, which began earlier, held nothing that no other has, unless
 * it was trimmed (`chunksAbove`): then nothing below its first is asked for.
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

/** The rows of a head, oldest first; `last` is how many the instance ever had. */
export function newestRows<Row>(
  packing: RowReading<Row>,
  instanceId: string,
  { after, rows }: NewestRows,
  last: number,
): Row[] {
  return unpacked(packing, instanceId, rows, after + 1, last);
}

/** What is left of such rows when those up to the ordinal `floor` go. */
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

/** Of chunks those that hold rows on both sides of `floor`, without the ones below it. */
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

/** Which rows are wanted: with ordinals from `newest` downwards, at most `count`. */
type Wanted = { readonly newest: number; readonly count: number };

/**
 * Stored observations of an instance, newest first: those of its head, and what of the others is in
 * chunks. Rejects as the store does.
 */
export async function storedHistory(
  store: Pick<InstanceStore, 'readHistory'>,
  instanceId: string,
  { newestHistory, historyCount }: InstanceHead,
  wanted: Wanted,
): Promise<HistoryRow[]> {
  const inHead = newestRows(OBSERVATIONS, instanceId, newestHistory, historyCount);
  return joined(inHead, newestHistory.after, wanted, (newest, count) =>
    store.readHistory(instanceId, newest, count),
  );
}

/** The same of drift events. */
export async function storedDrift(
  store: Pick<InstanceStore, 'readDrift'>,
  instanceId: string,
  { newestDrift, driftCount }: InstanceHead,
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
