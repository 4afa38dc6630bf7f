import { headOf, type InstanceState } from '#engine/instance/state';
import { type EngineAnswer, plainAnswer, type RecordPage } from '#grpc/engine-messages';
import { type RecordsCursor, recordsCursorText } from '#grpc/list-cursor';
import { MODE_TARGETS } from '#identity/modes';
import { isoTime } from '#stdlib/clock';
import { CorruptState } from '#storage/ports/bytes';
import { newestRows } from '#storage/ports/chunks';
import {
  CHUNK_ROWS_MAX,
  type Chunk,
  type DriftRow,
  type HistoryRow,
  type InstanceStore,
  type NewestRows,
  type PackedRows,
  trimmedOf,
} from '#storage/ports/instances';
import { DRIFT_EVENTS, OBSERVATIONS, unpacked } from '#storage/ports/rows';

/** Maximum number of drift events in an unpaged answer. Source: decision 162. */
const DRIFT_EVENTS_MAX = 1_000;

/** Maximum row bytes per page. The first row is sent in any size. Source: decision 162. */
const PAGE_BYTES_MAX = 1_024 * 1_024;

/** Number of rows in the first store read. Each further read is up to twice as large. */
const READ_ROWS = 128;

/** Minimum number of rows per read, even if few rows seem to fit. */
const READ_ROWS_MIN = 16;

/** Returns a page of observations, newest first. Source: interface 4.2. */
export async function historyPage(
  instanceId: string,
  state: InstanceState,
  page: RecordPage,
  store: InstanceStore,
): Promise<EngineAnswer> {
  const head = headOf(state);
  const { historyCount, historyStart, newestHistory } = head;
  const floor = trimmedOf(head).history;
  const total = historyCount - startOf(page, historyStart, floor);
  const start = walkStart(page, historyStart, floor);
  const unstored = state.unstored?.history ?? [];
  const stored = historyCount - unstored.length;
  const inHead = newestRows(OBSERVATIONS, instanceId, newestHistory, stored);
  const added = addedHistory(instanceId, unstored, stored);
  const after = (index: number) => Math.max(0, index - inHead.length);
  const memory = {
    length: inHead.length + added.length,
    slice: (from: number, to: number) => [
      ...inHead.slice(from, to),
      ...added.slice(after(from), after(to)),
    ],
  };
  const rows = await newestFirst(memory, historyCount, start, page, {
    name: `observations of ${instanceId}`,
    readStored: (newest, count) => store.readHistory(instanceId, newest, count),
    jsonOf: (row) => historyJson(row, page.isEveryGeneration),
  });
  const top = topOf(page, historyCount);
  const next = nextOf('history', instanceId, page, { top, start, count: rows.length });
  return pageAnswer(rows, pagination(page, next, total));
}

/** Drift events, newest first: the requested page, or without paging the newest 1,000. */
export async function driftPage(
  instanceId: string,
  state: InstanceState,
  page: RecordPage & { readonly isPaged: boolean },
  store: InstanceStore,
): Promise<EngineAnswer> {
  const head = headOf(state);
  const { driftCount, driftStart, newestDrift } = head;
  const floor = trimmedOf(head).drift;
  const total = driftCount - startOf(page, driftStart, floor);
  const start = walkStart(page, driftStart, floor);
  const range = page.isPaged ? page : { ...page, limit: DRIFT_EVENTS_MAX, offset: 0 };
  const unstored = state.unstored?.drift ?? [];
  const stored = driftCount - unstored.length;
  const inHead = newestRows(DRIFT_EVENTS, instanceId, newestDrift, stored);
  const rows = await newestFirst([...inHead, ...unstored], driftCount, start, range, {
    name: `drift events of ${instanceId}`,
    readStored: (newest, count) => store.readDrift(instanceId, newest, count),
    jsonOf: (row) => driftEventJson(row, page.isEveryGeneration),
  });
  if (!page.isPaged) return pageAnswer(rows, { total });
  const top = topOf(page, driftCount);
  const next = nextOf('drift', instanceId, page, { top, start, count: rows.length });
  return pageAnswer(rows, pagination(page, next, total));
}

/** Ordinal before the first visible row. */
function startOf({ isEveryGeneration }: RecordPage, generation: number, floor: number): number {
  return isEveryGeneration ? floor : Math.max(generation, floor);
}

/**
 * Ordinal before the first visible row: from the cursor of the page, if any, otherwise from
 * `startOf`. A paged read by cursor shows the generation of its first page to the end, so later
 * resets are ignored.
 */
function walkStart(page: RecordPage, generation: number, floor: number): number {
  const { cursor } = page;
  return cursor === undefined ? startOf(page, generation, floor) : Math.max(cursor.start, floor);
}

/** A page's newest ordinal. */
function topOf({ offset, cursor }: RecordPage, newestOrdinal: number): number {
  return cursor === undefined ? newestOrdinal - offset : Math.min(cursor.before - 1, newestOrdinal);
}

/** Cursor after `count` rows below and including ordinal `top`; undefined if no rows remain. */
function nextOf(
  list: RecordsCursor['list'],
  instanceId: string,
  { offset, cursor, isEveryGeneration }: RecordPage,
  { top, start, count }: { readonly top: number; readonly start: number; readonly count: number },
): string | undefined {
  if (count === 0 || top - count <= start) return undefined;
  const before = top - count + 1;
  const seen = (cursor?.seen ?? offset) + count;
  return recordsCursorText({ list, instanceId, isEveryGeneration, seen, before, start });
}

/** Rows in memory, oldest first: an array, or rows that are unpacked when they are read. */
type InMemory<Row> = { readonly length: number; slice(from: number, to: number): Row[] };

/** Row source, and the rows' JSON form. */
type Rows<Row> = {
  readonly name: string;
  readonly readStored: (newest: number, count: number) => Promise<Row[]>;
  readonly jsonOf: (row: Row) => string;
};

/**
 * Reads rows by ordinal, newest first. Ordinals have no gaps: the newest rows are in memory, older
 * rows in stored chunks (architecture 3.2). `start` is the ordinal before the first visible row.
 * Stops before the page is too large, and reads few rows that do not fit. Throws `CorruptState` if
 * rows are missing.
 */
async function newestFirst<Row>(
  memory: InMemory<Row>,
  newestOrdinal: number,
  start: number,
  page: RecordPage,
  { name, readStored, jsonOf }: Rows<Row>,
): Promise<string[]> {
  const newest = topOf(page, newestOrdinal);
  const count = Math.min(page.limit, newest - start);
  if (count <= 0) return [];
  const storedOrdinal = newestOrdinal - memory.length;
  const inMemory = memory
    .slice(Math.max(0, newest - count - storedOrdinal), Math.max(0, newest - storedOrdinal))
    .reverse();
  const fitting = new PageRows();
  let seen = inMemory.length;
  let isFull = inMemory.some((row) => !fitting.add(jsonOf(row)));
  for (let portion = READ_ROWS; !isFull && seen < count; portion *= 2) {
    const wanted = Math.min(portion, count - seen, Math.max(READ_ROWS_MIN, fitting.room));
    const stored = await readStored(newest - seen, wanted);
    // Memory keeps a row until its chunk is stored, so a missing row means damage.
    if (stored.length < wanted) throw new CorruptState(`chunks lack ${name}`);
    isFull = stored.some((row) => !fitting.add(jsonOf(row)));
    seen += wanted;
  }
  return fitting.rows;
}

/** A page's rows, up to the maximum page size. */
class PageRows {
  readonly rows: string[] = [];
  #bytes = 0;

  /** Estimate: how many further rows fit, from the average size so far. */
  get room(): number {
    const { length } = this.rows;
    if (length === 0) return READ_ROWS;
    return Math.ceil(((PAGE_BYTES_MAX - this.#bytes) * length) / this.#bytes);
  }

  /** Adds a row unless the page would become too large. Returns whether the row was added. */
  add(json: string): boolean {
    this.#bytes += Buffer.byteLength(json) + 1;
    if (this.rows.length > 0 && this.#bytes > PAGE_BYTES_MAX) return false;
    this.rows.push(json);
    return true;
  }
}

/** Packed observations of `UnstoredRows` after `stored` stored observations. A slice unpacks. */
export function addedHistory(
  instanceId: string,
  packed: readonly PackedRows[],
  stored: number,
): InMemory<HistoryRow> {
  return {
    length: packed.length,
    slice(from, to) {
      const rows = packed.slice(from, to);
      const first = stored + 1 + from;
      return unpacked(OBSERVATIONS, instanceId, rows.join(''), first, first + rows.length - 1);
    },
  };
}

/** Observation in the history's JSON form. */
export function historyJson(row: HistoryRow, isEveryGeneration: boolean): string {
  const mode = MODE_TARGETS[row.mode];
  const numbers = `"signal_strength":${row.signal},"confidence":${row.confidence}`;
  const generation = isEveryGeneration ? `,"generation":${row.generation}` : '';
  const rest = `"context":${row.contextJson},"timestamp":"${isoTime(row.timestampMs)}"${generation}`;
  return `{"cycle":${row.cycle},"mode_target":"${mode}",${numbers},${rest}}`;
}

/** Drift event in the drift list's JSON form. */
export function driftEventJson(row: DriftRow, isEveryGeneration: boolean): string {
  const level = `"drift_level":"${row.level}","deviation":${row.deviationJson}`;
  const modes = `"affected_modes":${row.affectedModesJson},"rolled_back":${row.isRolledBack}`;
  const generation = isEveryGeneration ? `,"generation":${row.generation}` : '';
  const time = `"timestamp":"${isoTime(row.timestampMs)}"${generation}`;
  return `{"cycle":${row.cycle},${level},${modes},${time}}`;
}

/** An answer's pagination fields. `next`: the next page's cursor. */
export function pagination(
  { limit, offset, cursor }: Pick<RecordPage, 'limit' | 'offset'> & PageOfWalk,
  next: string | undefined,
  total: number,
) {
  const has_more = next !== undefined;
  return { limit, offset: cursor?.seen ?? offset, total, has_more, next_cursor: next ?? null };
}

type PageOfWalk = { readonly cursor?: { readonly seen: number } | undefined };

function pageAnswer(rows: readonly string[], page: object): EngineAnswer {
  const body = `{"data":[${rows.join(',')}],"pagination":${JSON.stringify(page)}}`;
  return plainAnswer(body);
}

/**
 * Maximum number of rows and bytes per table, in a head and in a chunk. The first row beyond a
 * bound closes the chunk.
 */
export type HeadBounds = { readonly rowsMax: number; readonly bytesMax: number };

/**
 * Maximum observation bytes in a head: 32 observations with 110-byte contexts. Source:
 * decision 210.
 */
const HEAD_HISTORY_BYTES_MAX = 4 * 1_024;

/** Maximum number of drift events in a head: a few days for a typical agent (decision 210). */
const HEAD_DRIFT_ROWS_MAX = 8;

/** Maximum drift event bytes in a head, at about 230 bytes each. Source: decision 210. */
const HEAD_DRIFT_BYTES_MAX = 2 * 1_024;

/** Bounds for both tables; together 6 KiB per head. */
export type ChunkBounds = { readonly history: HeadBounds; readonly drift: HeadBounds };

/** Default bounds. */
export const CHUNK_BOUNDS: ChunkBounds = {
  history: { rowsMax: CHUNK_ROWS_MAX, bytesMax: HEAD_HISTORY_BYTES_MAX },
  drift: { rowsMax: HEAD_DRIFT_ROWS_MAX, bytesMax: HEAD_DRIFT_BYTES_MAX },
};

/** Cut result: chunks to store, oldest first, and rows that remain in the head. */
export type Cut = { readonly chunks: readonly Chunk[]; readonly newest: NewestRows };

/**
 * Cuts a head's rows, and the rows added since, into chunks. `last` is the last row's ordinal.
 *
 * A chunk ends before the first row that does not fit. A row too large for a head becomes its own
 * chunk. Borders depend only on the rows: all nodes that apply the same events cut at the same
 * rows, regardless of checkpoints. So a head's version determines its rows.
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
  // Join once: repeated concatenation would keep many string pieces in memory.
  return { chunks, newest: { after: first - 1, rows: open.join('') } };
}
