import { CHUNK_ROWS_MAX, type Chunk, type NewestRows } from '#storage/instance-store';
import { type Packing, type RowReading, unpacked } from '#storage/packed-rows';

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
