import { isoTime } from '#engine/instance-answers';
import { headOf, type InstanceState } from '#engine/instance-state';
import { MODE_TARGETS } from '#identity/modes';
import type { DriftRow, HistoryRow, InstanceStore } from '#storage/instance-store';
import type { EngineAnswer, RecordPage } from '#wire/engine-messages';

/** Drift events in an answer whose caller asked for no page. Source: decision 31. */
const DRIFT_EVENTS_MAX = 1_000;

/** One page of the observation history, most recent cycle first. Source: spec 4.2, decisions 7, 39. */
export async function historyPage(
  instanceId: string,
  state: InstanceState,
  page: RecordPage,
  store: InstanceStore,
): Promise<EngineAnswer> {
  const { historyCount, historyStart } = headOf(state);
  const start = page.isEveryGeneration ? 0 : historyStart;
  const total = historyCount - start;
  const unstored = state.unstored?.history ?? [];
  const rows = await newestFirst(unstored, historyCount, start, page, (newest, count) =>
    store.readHistory(instanceId, newest, count),
  );
  const data = rows.map((row) => historyJson(row, page.isEveryGeneration)).join(',');
  return pageAnswer(data, pagination(page, total));
}

/** Drift events, most recent first: a page if one was asked for, else the newest 1,000. */
export async function driftPage(
  instanceId: string,
  state: InstanceState,
  page: RecordPage & { readonly isPaged: boolean },
  store: InstanceStore,
): Promise<EngineAnswer> {
  const { driftCount, driftStart } = headOf(state);
  const start = page.isEveryGeneration ? 0 : driftStart;
  const total = driftCount - start;
  const range = page.isPaged ? page : { ...page, limit: DRIFT_EVENTS_MAX, offset: 0 };
  const rows = await newestFirst(
    state.unstored?.drift ?? [],
    driftCount,
    start,
    range,
    (newest, count) => store.readDrift(instanceId, newest, count),
  );
  const data = rows.map((row) => driftEventJson(row, page.isEveryGeneration)).join(',');
  return pageAnswer(data, page.isPaged ? pagination(range, total) : { total });
}

/**
 * Rows by their ordinals, which have no gaps: the newest stand unflushed in memory, the older ones
 * in the store (architecture 3.2). `start` is the ordinal before the first that may be shown.
 */
async function newestFirst<Row>(
  unflushed: readonly Row[],
  newestOrdinal: number,
  start: number,
  page: RecordPage,
  readStored: (newest: number, count: number) => Promise<Row[]>,
): Promise<Row[]> {
  const newest = newestOrdinal - page.offset;
  const count = Math.min(page.limit, newest - start);
  if (count <= 0) return [];
  const storedOrdinal = newestOrdinal - unflushed.length;
  const inMemory = unflushed
    .slice(Math.max(0, newest - count - storedOrdinal), Math.max(0, newest - storedOrdinal))
    .reverse();
  if (inMemory.length === count) return inMemory;
  const stored = await readStored(newest - inMemory.length, count - inMemory.length);
  return [...inMemory, ...stored];
}

function historyJson(row: HistoryRow, isEveryGeneration: boolean): string {
  const mode = MODE_TARGETS[row.mode];
  const numbers = `"signal_strength":${row.signal},"confidence":${row.confidence}`;
  const generation = isEveryGeneration ? `,"generation":${row.generation}` : '';
  const rest = `"context":${row.contextJson},"timestamp":"${isoTime(row.timestampMs)}"${generation}`;
  return `{"cycle":${row.cycle},"mode_target":"${mode}",${numbers},${rest}}`;
}

function driftEventJson(row: DriftRow, isEveryGeneration: boolean): string {
  const level = `"drift_level":"${row.level}","deviation":${row.deviationJson}`;
  const modes = `"affected_modes":${row.affectedModesJson},"rolled_back":${row.isRolledBack}`;
  const generation = isEveryGeneration ? `,"generation":${row.generation}` : '';
  const time = `"timestamp":"${isoTime(row.timestampMs)}"${generation}`;
  return `{"cycle":${row.cycle},${level},${modes},${time}}`;
}

function pagination({ limit, offset }: RecordPage, total: number) {
  return { limit, offset, total, has_more: offset + limit < total };
}

function pageAnswer(dataJson: string, page: object): EngineAnswer {
  const body = `{"data":[${dataJson}],"pagination":${JSON.stringify(page)}}`;
  return { body, etag: '', cycles: 0, throttledRetryAfterS: 0, isReplayed: false };
}
