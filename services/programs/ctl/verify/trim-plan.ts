import { CtlError } from '#ctl/command';
import { storedRows, verifyHead } from '#ctl/verify/heads';
import { ReplayBranches } from '#ctl/verify/replay';
import { MODELS } from '#identity/model';
import type { State } from '#identity/state';
import { storedDrift, storedHistory } from '#storage/ports/chunks';
import {
  type DriftRow,
  type Floor,
  type HistoryRow,
  type InstanceHead,
  type InstanceStore,
  packedState,
  trimmedOf,
} from '#storage/ports/instances';

/**
 * Maximum time from a row deletion to the storage of the head with the new floor, in milliseconds.
 * If the node fails in between, its successor stores the head.
 */
export const TRIM_MS_MAX = 45_000;

/** Number of drift events per read. */
const EVENTS_PER_READ = 256;

/**
 * Plans the trim of an instance. Returns the new floor for a deletion of rows before `cutoffMs`
 * (Unix milliseconds), from the oldest row up to the first newer row. Undefined if no row is due.
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
  cutoffMs: number,
): Promise<Floor | undefined> {
  const { history: below } = trimmedOf(head);
  // Most instances have nothing to trim: their oldest row is recent.
  const oldest = await storedHistory(store, instanceId, head, { newest: below + 1, count: 1 });
  if (head.historyCount > below && oldest.length === 0) throw missing(instanceId, below + 1);
  if (!oldest.some(({ timestampMs }) => timestampMs < cutoffMs)) return undefined;
  const model = MODELS.find(head.modelVersion);
  const branches = model && new ReplayBranches(head, model, new Map());
  const last = await lastBefore(store, instanceId, head, cutoffMs, (row) => branches?.observe(row));
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

/** Returns the last row to delete. Calls `onRow` for each row up to the returned row. */
async function lastBefore(
  store: InstanceStore,
  instanceId: string,
  head: InstanceHead,
  cutoffMs: number,
  onRow: (row: HistoryRow) => void,
): Promise<HistoryRow> {
  let last: HistoryRow | undefined;
  let due = trimmedOf(head).history;
  for await (const row of storedRows(store, instanceId, head)) {
    if (row.timestampMs >= cutoffMs) break;
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
  last: HistoryRow,
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
