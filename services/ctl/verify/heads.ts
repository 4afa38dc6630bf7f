import {
  type KnownReset,
  ReplayBranches,
  type ReplayedState,
  type ReplayStart,
} from '#ctl/verify/replay';
import { type RowPortion, rowPortions } from '#ctl/work';
import { MODEL_VERSION, OFFSET, STATE_LENGTH, type State } from '#identity/state';
import { storedDrift, storedHistory } from '#storage/ports/chunks';
import {
  type DriftRow,
  type HistoryRow,
  type InstanceHead,
  type InstanceStore,
  trimmedOf,
} from '#storage/ports/instances';

/** What a replay may know besides the head and the rows. */
type ReplayOptions = {
  /** Resets by the generation that each began. Of any other both modes are tried. */
  readonly resets?: ReadonlyMap<number, KnownReset>;
  /**
   * Hears, after each row, every state that the instance may then have been in: one, unless a reset
   * is not known; none, where no start is known. The states are valid during the call.
   */
  readonly onCycle?: (row: HistoryRow, states: readonly State[]) => void;
};

/** What came of running a stored history again. */
export type Replay =
  | {
      readonly kind: 'same';
      readonly start: ReplayStart;
      /** The generation from which on the head follows from nothing but rows. */
      readonly since: number;
      /** Observations of those generations. */
      readonly cycles: number;
    }
  /** Each difference in words: the head does not follow from the rows, or counts others. */
  | { readonly kind: 'different'; readonly differences: readonly string[] }
  /** The rows are in order, but the state that the generation began with does not follow from them. */
  | { readonly kind: 'unknown_start'; readonly generation: number }
  /** The instance is deleted; `rows` of it are left, of both tables, which should be 0. */
  | { readonly kind: 'deleted'; readonly rows: number }
  /**
   * The rows are in order, but the head was stored under other parameters of the model, which this program
   * does not have.
   */
  | { readonly kind: 'other_model'; readonly modelVersion: string };

/** Differences that are listed; a head that is wrong is wrong in many places. */
const DIFFERENCES_MAX = 20;

/**
 * Runs a stored history through the model again and compares what comes out with the head, to the
 * last bit. `rows` are all rows from the head's floor up to `head.historyCount`, oldest first; they are gone
 * through to the end, whatever comes of them. Pure but for `rows`. What it can and cannot show is decision 86.
 */
export async function verifyHead(
  head: InstanceHead,
  rows: AsyncIterable<HistoryRow> | Iterable<HistoryRow>,
  options: ReplayOptions = {},
): Promise<Replay> {
  const { modelVersion, deletedAtMs } = head;
  if (deletedAtMs !== undefined) return { kind: 'deleted', rows: await countOf(rows) };
  const isKnown = modelVersion === MODEL_VERSION;
  const branches = isKnown ? new ReplayBranches(head, options.resets ?? new Map()) : undefined;
  const order = new RowOrder(head);
  let isInOrder = true;
  for await (const row of rows) {
    isInOrder &&= order.accepts(row);
    if (!isInOrder || branches === undefined) continue;
    const states = branches.observe(row);
    options.onCycle?.(row, states);
  }
  const differences = order.end();
  if (differences.length > 0) return { kind: 'different', differences };
  if (branches === undefined) return { kind: 'other_model', modelVersion };
  return verdictOn(head, branches);
}

/** Runs what a store has of an instance again, and counts its drift events. Rejects as the store does. */
export async function verifyStored(
  store: Pick<InstanceStore, 'readHistory' | 'readDrift'>,
  instanceId: string,
  head: InstanceHead,
): Promise<Replay> {
  const replay = await verifyHead(head, storedRows(store, instanceId, head));
  return await withDriftEvents(replay, head, storedDriftRows(store, instanceId, head));
}

function verdictOn(head: InstanceHead, branches: ReplayBranches): Replay {
  const { generation, historyCount } = head;
  const ends = branches.end();
  let nearest: readonly string[] | undefined;
  for (const end of ends) {
    const differences = differencesFrom(head, end);
    if (differences.length === 0) {
      const { start, since, rowsBefore } = end;
      return { kind: 'same', start, since, cycles: historyCount - rowsBefore };
    }
    if (nearest === undefined || differences.length < nearest.length) nearest = differences;
  }
  if (branches.isIncomplete) return { kind: 'unknown_start', generation };
  return { kind: 'different', differences: (nearest ?? []).slice(0, DIFFERENCES_MAX) };
}

/** What of the head does not follow from a replayed state. */
function differencesFrom(head: InstanceHead, { state, driftEvents }: ReplayedState): string[] {
  const differences: string[] = [];
  if (head.model.length !== state.length) {
    return [`the vector has ${head.model.length} places, not ${state.length}`];
  }
  for (const [place, stored] of head.model.entries()) {
    if (Object.is(stored, state[place])) continue;
    differences.push(`${nameOf(place)} is ${stored}; the replay gives ${state[place]}`);
  }
  const stored = head.driftCount - head.driftStart;
  if (stored !== driftEvents) {
    differences.push(`${stored} drift events are counted; the replay gives ${driftEvents}`);
  }
  return differences;
}

/** A place of the vector by the name of its part, as `tendency[3]`. */
function nameOf(place: number): string {
  const parts = Object.entries(OFFSET);
  const index = parts.findLastIndex(([, start]) => start <= place);
  const [name = '', start = 0] = parts[index] ?? [];
  const [, end] = parts[index + 1] ?? ['', STATE_LENGTH];
  return end - start > 1 ? `${name}[${place - start}]` : name;
}

/** Whether rows stand where they must: without gaps, each cycle after the one before. */
class RowOrder {
  readonly #head: InstanceHead;
  #last: Pick<HistoryRow, 'generation' | 'cycle' | 'timestampMs'> | undefined;
  #ordinal: number;
  #startOfGeneration: number;
  #problem: string | undefined;

  constructor(head: InstanceHead) {
    const { floor, historyStart } = head;
    this.#head = head;
    this.#last = floor;
    this.#ordinal = trimmedOf(head).history;
    // Where the floor's generation began nothing says any more.
    this.#startOfGeneration = Math.min(historyStart, this.#ordinal);
  }

  /** False when nothing that follows makes sense any more. */
  accepts(row: HistoryRow): boolean {
    this.#problem = this.#problemOf(row);
    if (this.#problem !== undefined) return false;
    if (row.generation !== (this.#last?.generation ?? 0)) this.#startOfGeneration = this.#ordinal;
    this.#ordinal = row.ordinal;
    this.#last = row;
    return true;
  }

  /** What is wrong with the rows as a whole. */
  end(): string[] {
    if (this.#problem !== undefined) return [this.#problem];
    const { historyCount, historyStart, generation, observedAtMs } = this.#head;
    if (this.#ordinal !== historyCount) {
      const below = trimmedOf(this.#head).history;
      const stored = `${this.#ordinal - below} rows are stored`;
      return [`${stored}; the head counts ${historyCount - below}`];
    }
    const differences: string[] = [];
    const isLive = this.#last?.generation === generation;
    const start = isLive ? this.#startOfGeneration : historyCount;
    if (start !== historyStart) {
      differences.push(`generation ${generation} begins after row ${start}, not ${historyStart}`);
    }
    const lastMs = isLive ? this.#last?.timestampMs : undefined;
    if (lastMs !== observedAtMs) {
      differences.push(`the last observation was at ${lastMs}, not at ${observedAtMs}`);
    }
    return differences;
  }

  #problemOf({ ordinal, generation, cycle }: HistoryRow): string | undefined {
    const due = this.#ordinal + 1;
    if (ordinal !== due) return `row ${due} is not there; row ${ordinal} stands in its place`;
    const before = this.#last?.generation ?? 1;
    if (generation < before || generation > this.#head.generation) {
      return `row ${ordinal} is of generation ${generation}, after ${before}`;
    }
    const isNext = generation === this.#last?.generation;
    const dueCycle = isNext ? (this.#last?.cycle ?? 0) + 1 : 1;
    if (cycle !== dueCycle) return `row ${ordinal} is cycle ${cycle}, where ${dueCycle} belongs`;
    return undefined;
  }
}

/**
 * What a replay comes to beside `events`, the drift events that are stored above the head's floor: the same,
 * or a difference where the head counts others. They are all gone through.
 */
export async function withDriftEvents(
  replay: Replay,
  head: InstanceHead,
  events: AsyncIterable<DriftRow>,
): Promise<Replay> {
  const stored = await countOf(events);
  if (replay.kind === 'deleted') return { ...replay, rows: replay.rows + stored };
  const counted = head.driftCount - trimmedOf(head).drift;
  if (stored === counted) return replay;
  const others = replay.kind === 'different' ? replay.differences : [];
  const difference = `${stored} drift events are stored; the head counts ${counted}`;
  return { kind: 'different', differences: [...others, difference] };
}

async function countOf(rows: AsyncIterable<unknown> | Iterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _ of rows) count += 1;
  return count;
}

/**
 * The rows that a head counts above its floor, as they are stored, oldest first. Rejects as the store
 * does.
 */
export function storedRows(
  store: Pick<InstanceStore, 'readHistory'>,
  instanceId: string,
  head: InstanceHead,
): AsyncGenerator<HistoryRow> {
  return oldestFirst(trimmedOf(head).history, head.historyCount, (portion) =>
    storedHistory(store, instanceId, head, portion),
  );
}

/** The same of drift events. */
function storedDriftRows(
  store: Pick<InstanceStore, 'readDrift'>,
  instanceId: string,
  head: InstanceHead,
): AsyncGenerator<DriftRow> {
  return oldestFirst(trimmedOf(head).drift, head.driftCount, (portion) =>
    storedDrift(store, instanceId, head, portion),
  );
}

async function* oldestFirst<Row>(
  below: number,
  total: number,
  read: (portion: RowPortion) => Promise<Row[]>,
): AsyncGenerator<Row> {
  for (const portion of rowPortions(below, total)) yield* (await read(portion)).reverse();
}
