import { headOf, type InstanceState } from '#engine/instance/state';
import { MODE_TARGETS } from '#identity/modes';
import { isoTime } from '#platform/clock';
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
import { DRIFT_EVENTS, OBSERVATIONS } from '#storage/ports/rows';
import { type EngineAnswer, plainAnswer, type RecordPage } from '#wire/engine-messages';
import { type RecordsCursor, recordsCursorText } from '#wire/list-cursor';

/** Drift events in an answer whose caller asked for no page. Source: decision 162. */
const DRIFT_EVENTS_MAX = 1_000;

/** Bytes of a page's rows, but for the first, which always fits. Source: decision 162. */
const PAGE_BYTES_MAX = 1_024 * 1_024;

/** Rows that are read from the store first; twice as many each time after that, if they may fit. */
const READ_ROWS = 128;

/** The least that is read, where few seem to fit. */
const READ_ROWS_MIN = 16;

/** A page of the observation history, newest first. Source: interface 4.2. */
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
  const rows = await newestFirst([...inHead, ...unstored], historyCount, start, page, {
    name: `observations of ${instanceId}`,
    readStored: (newest, count) => store.readHistory(instanceId, newest, count),
    jsonOf: (row) => historyJson(row, page.isEveryGeneration),
  });
  const top = topOf(page, historyCount);
  const next = nextOf('history', instanceId, page, { top, start, count: rows.length });
  return pageAnswer(rows, pagination(page, next, total));
}

/** Drift events, most recent first: a page if one was asked for, else the newest 1,000. */
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

/** The ordinal before the first row that may be shown. */
function startOf({ isEveryGeneration }: RecordPage, generation: number, floor: number): number {
  return isEveryGeneration ? floor : Math.max(generation, floor);
}

/** The same of a walk: a reset since it began does not move it, so its generation is shown to the end. */
function walkStart(page: RecordPage, generation: number, floor: number): number {
  const { cursor } = page;
  return cursor === undefined ? startOf(page, generation, floor) : Math.max(cursor.start, floor);
}

/** Ordinal of the first row of a page. */
function topOf({ offset, cursor }: RecordPage, newestOrdinal: number): number {
  return cursor === undefined ? newestOrdinal - offset : Math.min(cursor.before - 1, newestOrdinal);
}

/** The cursor behind a page of `count` rows from the ordinal `top` down, if rows are left. */
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

/** Where rows come from and what is made of them. */
type Rows<Row> = {
  readonly name: string;
  readonly readStored: (newest: number, count: number) => Promise<Row[]>;
  readonly jsonOf: (row: Row) => string;
};

/**
 * Rows by their ordinals, which have no gaps: the newest stand in memory, in the head or behind it, the
 * older ones in chunks of the store (architecture 3.2). `start` is the ordinal before the first that
 * may be shown. Ends before the row with which they would be too large, and reads little beyond it.
 */
async function newestFirst<Row>(
  memory: readonly Row[],
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
    // Every row that memory has let go of was confirmed to be in a chunk.
    if (stored.length < wanted) throw new CorruptState(`chunks lack ${name}`);
    isFull = stored.some((row) => !fitting.add(jsonOf(row)));
    seen += wanted;
  }
  return fitting.rows;
}

/** The rows of a page while they fit. */
class PageRows {
  readonly rows: string[] = [];
  #bytes = 0;

  /** How many more would fit if they were as large as those that are here. */
  get room(): number {
    const { length } = this.rows;
    if (length === 0) return READ_ROWS;
    return Math.ceil(((PAGE_BYTES_MAX - this.#bytes) * length) / this.#bytes);
  }

  /** Adds a row unless the page would be too large with it. Returns whether it was added. */
  add(json: string): boolean {
    this.#bytes += Buffer.byteLength(json) + 1;
    if (this.rows.length > 0 && this.#bytes > PAGE_BYTES_MAX) return false;
    this.rows.push(json);
    return true;
  }
}

/** An observation as the history shows it. */
export function historyJson(row: HistoryRow, isEveryGeneration: boolean): string {
  const mode = MODE_TARGETS[row.mode];
  const numbers = `"signal_strength":${row.signal},"confidence":${row.confidence}`;
  const generation = isEveryGeneration ? `,"generation":${row.generation}` : '';
  const rest = `"context":${row.contextJson},"timestamp":"${isoTime(row.timestampMs)}"${generation}`;
  return `{"cycle":${row.cycle},"mode_target":"${mode}",${numbers},${rest}}`;
}

/** A drift event as the list of them shows it. */
export function driftEventJson(row: DriftRow, isEveryGeneration: boolean): string {
  const level = `"drift_level":"${row.level}","deviation":${row.deviationJson}`;
  const modes = `"affected_modes":${row.affectedModesJson},"rolled_back":${row.isRolledBack}`;
  const generation = isEveryGeneration ? `,"generation":${row.generation}` : '';
  const time = `"timestamp":"${isoTime(row.timestampMs)}"${generation}`;
  return `{"cycle":${row.cycle},${level},${modes},${time}}`;
}

/** What an answer says of its page, behind which the next one begins at `next`. */
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
