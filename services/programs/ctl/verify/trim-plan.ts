import { CtlError } from '#ctl/command';
import { storedRows, verifyHead } from '#ctl/verify/heads';
import { ReplayBranches } from '#ctl/verify/replay';
import { MODELS } from '#identity/model';
import type { State } from '#identity/state';
import { storedDrift, storedHistory } from '#storage/ports/chunks';
import {
  ANSWER_STORED_MS,
  type DriftRow,
  type Floor,
  type HistoryRow,
  type InstanceHead,
  type InstanceStore,
  packedState,
  trimmedOf,
} from '#storage/ports/instances';
import { comparePositions, type StatePosition } from '#storage/ports/states';

/**
 * Maximum time from a row deletion to the storage of the head with the new floor, in milliseconds.
 * If the node fails in between, its successor stores the head.
 */
export const TRIM_MS_MAX = 45_000;

/** Number of drift events per read. */
const EVENTS_PER_READ = 256;

/**
 * Plans the trim of an instance at `nowMs`. Returns the new floor for a deletion of rows before
 * `cutoffMs` (both in Unix milliseconds), from the oldest row up to the first newer row. Undefined
 * if no row is due.
 *
 * An observation stays while its keyed answer may be replayed, also if the observation has an old
 * `timestamp`: a replay rebuilds the answer from the state before the observation (decision 22).
 *
 * A replay of the rows below, from the old floor, gives the state at the new floor. If resets allow
 * several states, the plan uses the state that leads to the head. If no state or several states
 * lead to the head, the floor has no state.
 *
 * Rejects as the store does, and with a `CtlError` if rows are missing, for example after a
 * concurrent trim.
 */
export async function trimPlan(
  store: InstanceStore,
  instanceId: string,
  head: InstanceHead,
  { cutoffMs, nowMs }: { readonly cutoffMs: number; readonly nowMs: number },
): Promise<Floor | undefined> {
  const { history: below } = trimmedOf(head);
  // Most instances have nothing to trim: their oldest row is recent.
  const oldest = await storedHistory(store, instanceId, head, { newest: below + 1, count: 1 });
  if (head.historyCount > below && oldest.length === 0) throw missing(instanceId, below + 1);
  if (!oldest.some(({ timestampMs }) => timestampMs < cutoffMs)) return undefined;
  const model = MODELS.find(head.modelVersion);
  const branches = model && new ReplayBranches(head, model, new Map());
  const answered = await firstAnswered(store, instanceId, nowMs - ANSWER_STORED_MS);
  const isDue = (row: HistoryRow) =>
    row.timestampMs < cutoffMs && (answered === undefined || comparePositions(row, answered) < 0);
  if (!oldest.some(isDue)) return undefined;
  const last = await lastBefore(store, instanceId, head, isDue, (row) => branches?.observe(row));
  const floor = await floorAt(store, instanceId, head, last, branches);
  // Before a reset, the plan cannot know the model: it replays every row with the first model.
  const isExact = floor.state !== undefined && floor.generation === head.generation;
  const isKept = answered === undefined || isExact;
  return isKept ? floor : await knownFloor(store, instanceId, head, floor);
}

/** Floor at the last row to delete, after the replay of all rows below. */
async function floorAt(
  store: InstanceStore,
  instanceId: string,
  head: InstanceHead,
  last: HistoryRow,
  branches: ReplayBranches | undefined,
): Promise<Floor> {
  const { ordinal: history, generation, cycle, timestampMs } = last;
  const drift = await driftUpTo(store, instanceId, head, last);
  const floor = { history, drift, generation, cycle, timestampMs, state: undefined };
  const states = (branches?.states ?? []).map((state) => state.slice());
  const [first, second] = states;
  if (first === undefined) return floor;
  if (second === undefined && !branches?.isIncomplete) return withState(floor, first);
  // Before a later reset, a wrong state could lead to the head too, so no state is stored.
  if (branches?.isIncomplete && generation !== head.generation) return floor;
  const [only, other] = await leadingToHead(store, instanceId, head, floor, states);
  return other === undefined ? (only ?? floor) : floor;
}

/** Position of the oldest observation whose answer is stored as a position since `sinceMs`. */
async function firstAnswered(
  store: InstanceStore,
  instanceId: string,
  sinceMs: number,
): Promise<StatePosition | undefined> {
  let first: StatePosition | undefined;
  for await (const page of store.answerPages([instanceId])) {
    for (const { answer } of page) {
      const { atMs, position } = answer;
      if (position === undefined || atMs < sinceMs) continue;
      if (first === undefined || comparePositions(position, first) < 0) first = position;
    }
  }
  return first;
}

/**
 * Floor at the newest stored state up to `floor`, so that the rows above can be replayed. Undefined
 * if there is no such state above the present floor.
 */
async function knownFloor(
  store: InstanceStore,
  instanceId: string,
  head: InstanceHead,
  floor: Floor,
): Promise<Floor | undefined> {
  const from = { generation: 1, cycle: 0 };
  const range = { from, to: floor, limit: 1, isNewestFirst: true };
  const [row] = await store.readStates(instanceId, range);
  const timestampMs = row?.observedAtMs;
  if (row === undefined || timestampMs === undefined) return undefined;
  const { ordinal: history, generation, cycle, state } = row;
  if (history <= trimmedOf(head).history) return undefined;
  const drift = await driftUpTo(store, instanceId, head, row);
  return { history, drift, generation, cycle, timestampMs, state };
}

/** Returns the last row to delete. Calls `onRow` for each row up to the returned row. */
async function lastBefore(
  store: InstanceStore,
  instanceId: string,
  head: InstanceHead,
  isDue: (row: HistoryRow) => boolean,
  onRow: (row: HistoryRow) => void,
): Promise<HistoryRow> {
  let last: HistoryRow | undefined;
  let due = trimmedOf(head).history;
  for await (const row of storedRows(store, instanceId, head)) {
    if (!isDue(row)) break;
    due += 1;
    if (row.ordinal !== due) throw missing(instanceId, due);
    onRow(row);
    last = row;
  }
  if (last === undefined) throw missing(instanceId, due + 1);
  return last;
}

/** Returns a floor for each state from which the rows above lead to the head. */
async function leadingToHead(
  store: InstanceStore,
  instanceId: string,
  head: InstanceHead,
  floor: Floor,
  states: readonly State[],
): Promise<Floor[]> {
  const found: Floor[] = [];
  for (const state of states) {
    const candidate = withState(floor, state);
    const trimmed = { ...head, floor: candidate };
    const { kind } = await verifyHead(trimmed, storedRows(store, instanceId, trimmed));
    if (kind === 'same') found.push(candidate);
  }
  return found;
}

function withState(floor: Floor, state: State): Floor {
  return { ...floor, state: packedState(state) };
}

/** Counts an instance's drift events up to an observation. */
async function driftUpTo(
  store: InstanceStore,
  instanceId: string,
  head: InstanceHead,
  last: StatePosition,
): Promise<number> {
  const { driftCount } = head;
  const isBelow = ({ generation, cycle }: DriftRow) =>
    generation < last.generation || (generation === last.generation && cycle <= last.cycle);
  let drift = trimmedOf(head).drift;
  while (drift < driftCount) {
    const newest = Math.min(driftCount, drift + EVENTS_PER_READ);
    const rows = await storedDrift(store, instanceId, head, { newest, count: newest - drift });
    if (rows.length < newest - drift) throw missing(instanceId, drift + 1);
    const below = rows.filter(isBelow).length;
    drift += below;
    if (below < rows.length) break;
  }
  return drift;
}

function missing(instanceId: string, ordinal: number): CtlError {
  return new CtlError(`row ${ordinal} of ${instanceId} is missing: run "ctl verify"`);
}
