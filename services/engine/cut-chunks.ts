import {
  CHUNK_ROWS_MAX,
  type Chunk,
  type NewestRows,
  type PackedRows,
} from '#storage/instance-store';

/** How many rows of one table a head has in it, and a chunk: these become a chunk when more come. */
export type HeadBounds = { readonly rowsMax: number; readonly bytesMax: number };

/** Bytes of observations in a head: all 32 while contexts have 110 bytes. Source: decision 210. */
const HEAD_HISTORY_BYTES_MAX = 4 * 1_024;

/** Drift events in a head: what a few days of an agent bring. Source: decision 210. */
const HEAD_DRIFT_ROWS_MAX = 8;

/** Bytes of drift events in a head, each of about 230. Source: decision 210. */
const HEAD_DRIFT_BYTES_MAX = 2 * 1_024;

/** The bounds of both tables: 6 KiB of a head together. */
export type ChunkBounds = { readonly history: HeadBounds; readonly drift: HeadBounds };

/** The bounds of the service. */
export const CHUNK_BOUNDS: ChunkBounds = {
  history: { rowsMax: CHUNK_ROWS_MAX, bytesMax: HEAD_HISTORY_BYTES_MAX },
  drift: { rowsMax: HEAD_DRIFT_ROWS_MAX, bytesMax: HEAD_DRIFT_BYTES_MAX },
};

/** What is written as chunks, oldest first, and what stays in the head. */
export type Cut = { readonly chunks: readonly Chunk[]; readonly newest: NewestRows };

/**
 * Rows of a head with others behind them, `last` the ordinal of the last. A chunk ends before the row
 * that does not fit beside it, and one row that is too large for a head is a chunk at once. So borders
 * follow from the rows alone: any node that applies the same events cuts at the same places, however many
 * checkpoints there were, and what a head has in it follows from its version.
 */
export function cutChunks(
  newest: NewestRows,
  added: readonly PackedRows[],
  last: number,
  { rowsMax, bytesMax }: HeadBounds,
): Cut {
  if (added.length === 0) return { chunks: [], newest };
  const { after, rows } = newest;
  const chunks: Chunk[] = [];
  let first = after + 1;
  let next = last - added.length + 1;
  let open = [rows];
  let bytes = rows.length;
  const close = (): void => {
    chunks.push({ first, last: next - 1, rows: open.join('') });
    first = next;
    open = [];
    bytes = 0;
  };
  for (const row of added) {
    const isFull = next - first >= rowsMax || bytes + row.length > bytesMax;
    if (isFull && next > first) close();
    open.push(row);
    bytes += row.length;
    next += 1;
    if (bytes > bytesMax) close();
  }
  // Joined and not added one to the other: that would leave a text of many pieces in memory.
  return { chunks, newest: { after: first - 1, rows: open.join('') } };
}
