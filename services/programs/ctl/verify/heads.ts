import { type RowPortion, rowPortions } from '#ctl/bounded-work';
import {
  type KnownReset,
  ReplayBranches,
  type ReplayedState,
  type ReplayStart,
} from '#ctl/verify/replay';
import { differingStates, type StatesStore } from '#ctl/verify/states';
import { isTagsJson } from '#grpc/create-codec';
import { MODELS } from '#identity/model';
import { OFFSET, STATE_LENGTH, type State } from '#identity/state';
import { storedDrift, storedHistory } from '#storage/ports/chunks';
import {
  type DriftRow,
  type HistoryRow,
  type InstanceHead,
  type InstanceStore,
  NO_TAGS,
  trimmedOf,
} from '#storage/ports/instances';
import { type StateRow, statePages } from '#storage/ports/states';

/** Optional inputs of a replay. */
type ReplayOptions = {
  /**
   * Known resets, by the generation that they began. For other generations, the replay tries both
   * modes.
   */
  readonly resets?: ReadonlyMap<number, KnownReset>;
  /**
   * Called after each row with all possible states of the instance: one state if every reset is
   * known, no state if the start is unknown. The states are valid only during the call.
   */
  readonly onCycle?: (row: HistoryRow, states: readonly State[]) => void;
  /** Called after each reset, as `onCycle` after each row. */
  readonly onReset?: (generation: number, states: readonly State[]) => void;
};

/** Result of replaying a stored history. */
export type Replay =
  | {
      readonly kind: 'same';
      readonly start: ReplayStart;
      /** First generation from which the rows alone prove the head. */
      readonly since: number;
      /** Observations from generation `since` on. */
      readonly cycles: number;
    }
  /** Differences in words: the rows do not lead to the head, or the head has other counts. */
  | { readonly kind: 'different'; readonly differences: readonly string[] }
  /** The rows are in order, but they do not determine the state at the start of the generation. */
  | { readonly kind: 'unknown_start'; readonly generation: number }
  /**
   * The instance is deleted. `rows` counts the remaining rows of both tables; 0 is correct.
   */
  | { readonly kind: 'deleted'; readonly rows: number }
  /**
   * The rows are in order, but the head was stored with model parameters that this program does not
   * have.
   */
  | { readonly kind: 'other_model'; readonly modelVersion: string };

/** Maximum listed differences. A wrong head often has many. */
const DIFFERENCES_MAX = 20;

/**
 * Replays a stored history through the model and compares the result with the head bit for bit.
 * `rows` are all rows above the head's floor up to `head.historyCount`, oldest first. Consumes all
 * rows, whatever the result, and has no other I/O. Decision 86 lists what a replay proves.
 */
export async function verifyHead(
  head: InstanceHead,
  rows: AsyncIterable<HistoryRow> | Iterable<HistoryRow>,
  options: ReplayOptions = {},
): Promise<Replay> {
  const { modelVersion, deletedAtMs } = head;
  if (deletedAtMs !== undefined) return { kind: 'deleted', rows: await countOf(rows) };
  const model = MODELS.find(modelVersion);
  const branches =
    model && new ReplayBranches(head, model, options.resets ?? new Map(), options.onReset);
  const order = new RowOrder(head);
  let isInOrder = true;
  for await (const row of rows) {
    isInOrder &&= order.accepts(row);
    if (!isInOrder || branches === undefined) continue;
    const states = branches.observe(row);
    options.onCycle?.(row, states);
  }
  const { tagsJson = NO_TAGS } = head;
  const wrongTags = isTagsJson(tagsJson) ? [] : [`the tags are no object of texts: ${tagsJson}`];
  const differences = [...order.end(), ...wrongTags];
  if (differences.length > 0) return { kind: 'different', differences };
  if (branches === undefined) return { kind: 'other_model', modelVersion };
  return verdictOn(head, branches);
}

/**
 * Replays the stored rows of an instance, counts its drift events, and replays between its stored
 * states, whose resets are known. Rejects as the store does.
 */
export async function verifyStored(
  store: StatesStore,
  instanceId: string,
  head: InstanceHead,
): Promise<Replay> {
  const states = await statesOf(store, instanceId);
  const resets = knownResets(states);
  const rows = await verifyHead(head, storedRows(store, instanceId, head), { resets });
  const drift = storedDriftRows(store, instanceId, head);
  const replay = await withDriftEvents(rows, head, drift);
  if (replay.kind === 'deleted') return { ...replay, rows: replay.rows + states.length };
  if (replay.kind === 'different' || replay.kind === 'other_model') return replay;
  const differences = await differingStates(store, instanceId, head);
  return differences.length === 0 ? replay : different(differences);
}

function different(differences: readonly string[]): Replay {
  return { kind: 'different', differences: differences.slice(0, DIFFERENCES_MAX) };
}

async function statesOf(store: StatesStore, instanceId: string): Promise<StateRow[]> {
  const states: StateRow[] = [];
  for await (const page of statePages(store, instanceId)) states.push(...page);
  return states;
}

/** Resets of an instance that its stored states prove, by the generation that they began. */
export function knownResets(states: readonly StateRow[]): Map<number, KnownReset> {
  const resets = new Map<number, KnownReset>();
  for (const { cause, generation, originMs } of states) {
    if (cause === 'initial' || cause === 'default') {
      resets.set(generation, { mode: cause, atMs: originMs });
    }
  }
  return resets;
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

/** Differences between a head and a replayed state. */
function differencesFrom(head: InstanceHead, { state, driftEvents }: ReplayedState): string[] {
  const differences: string[] = [];
  if (head.model.length !== state.length) {
    return [`the state vector has ${head.model.length} entries, not ${state.length}`];
  }
  for (const [place, stored] of head.model.entries()) {
    if (Object.is(stored, state[place])) continue;
    differences.push(`${nameOf(place)} is ${stored}; the replay gives ${state[place]}`);
  }
  const stored = head.driftCount - head.driftStart;
  if (stored !== driftEvents) {
    differences.push(`the head counts ${stored} drift events; the replay gives ${driftEvents}`);
  }
  return differences;
}

/** Name of an entry in the state vector, for example `tendency[3]`. */
function nameOf(place: number): string {
  if (place >= STATE_LENGTH) return `contract memory[${place - STATE_LENGTH}]`;
  const parts = Object.entries(OFFSET);
  const index = parts.findLastIndex(([, start]) => start <= place);
  const [name = '', start = 0] = parts[index] ?? [];
  const [, end] = parts[index + 1] ?? ['', STATE_LENGTH];
  return end - start > 1 ? `${name}[${place - start}]` : name;
}

/** Checks that rows have no gaps and that each cycle follows the previous cycle. */
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
    // After a trim, the start of the floor's generation is unknown.
    this.#startOfGeneration = Math.min(historyStart, this.#ordinal);
  }

  /** Checks the next row. False if the row is out of order; later rows are then meaningless. */
  accepts(row: HistoryRow): boolean {
    this.#problem = this.#problemOf(row);
    if (this.#problem !== undefined) return false;
    if (row.generation !== (this.#last?.generation ?? 0)) this.#startOfGeneration = this.#ordinal;
    this.#ordinal = row.ordinal;
    this.#last = row;
    return true;
  }

  /** Differences between the rows as a whole and the head. */
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
    if (ordinal !== due) return `row ${due} is missing; row ${ordinal} follows`;
    const before = this.#last?.generation ?? 1;
    if (generation < before || generation > this.#head.generation) {
      return `row ${ordinal} has generation ${generation}, after generation ${before}`;
    }
    const isNext = generation === this.#last?.generation;
    const dueCycle = isNext ? (this.#last?.cycle ?? 0) + 1 : 1;
    if (cycle !== dueCycle) return `row ${ordinal} has cycle ${cycle}, not ${dueCycle}`;
    return undefined;
  }
}

/**
 * Adds the count of drift events to a replay result. `events` are the events stored above the
 * head's floor. Returns `different` if the head has another count. Consumes all events.
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

/** Yields the stored rows above the head's floor, oldest first. Rejects as the store does. */
export function storedRows(
  store: Pick<InstanceStore, 'readHistory'>,
  instanceId: string,
  head: InstanceHead,
): AsyncGenerator<HistoryRow> {
  return oldestFirst(trimmedOf(head).history, head.historyCount, (portion) =>
    storedHistory(store, instanceId, head, portion),
  );
}

/** Yields the stored drift events above the head's floor, oldest first. */
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
