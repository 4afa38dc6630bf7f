import { CtlError } from '#ctl/command';
import { storedRows, verifyHead } from '#ctl/verify/heads';
import { ReplayBranches } from '#ctl/verify/replay';
import { MODEL_VERSION, type State } from '#identity/state';
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
 * How long rows may be gone before the head that says so is stored, in milliseconds: a node that fails
 * between the two is taken over, and stores it then.
 */
export const TRIM_MS_MAX = 45_000;

/** Drift events of one read. */
const EVENTS_PER_READ = 256;

/**
 * The floor of an instance whose rows from before `cutoffMs` (Unix milliseconds) go; undefined when none
 * does. Rows go from the oldest on, up to the first that stays. The state at the floor is what the rows
 * below it come to, run again from the floor before; where resets leave more than one way, the one that
 * leads to the head, and none if none does. Rejects as the store does, and with a `CtlError` when rows
 * are missing: they may have been trimmed just now.
 */
export async function trimPlan(
  store: InstanceStore,
  instanceId: string,
  head: InstanceHead,
  cutoffMs: number,
): Promise<Floor | undefined> {
  const { history: below } = trimmedOf(head);
  // Most have nothing to trim: that one row says so.
  const oldest = await storedHistory(store, instanceId, head, { newest: below + 1, count: 1 });
  if (head.historyCount > below && oldest.length === 0) throw missing(instanceId, below + 1);
  if (!oldest.some(({ timestampMs }) => timestampMs < cutoffMs)) return undefined;
  const branches =
    head.modelVersion === MODEL_VERSION ? new ReplayBranches(head, new Map()) : undefined;
  const last = await lastBefore(store, instanceId, head, cutoffMs, (row) => branches?.observe(row));
  const { ordinal: history, generation, cycle, timestampMs } = last;
  const drift = await driftUpTo(store, instanceId, head, last);
  const floor = { history, drift, generation, cycle, timestampMs, state: undefined };
  const states = (branches?.states ?? []).map((state) => state.slice());
  const [first, second] = states;
  if (first === undefined) return floor;
  if (second === undefined && !branches?.isIncomplete) return withState(floor, first);
  // Behind a later reset a state that was never there would come to the head too.
  if (branches?.isIncomplete && generation !== head.generation) return floor;
  const [only, other] = await leadingToHead(store, instanceId, head, floor, states);
  return other === undefined ? (only ?? floor) : floor;
}

/** The last of the rows that go; `onRow` hears each. */
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

/** The floor with each of the states from which the rows above it lead to the head. */
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

/** How many drift events an instance had when it had been observed up to a row. */
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
  return new CtlError(`row ${ordinal} of ${instanceId} is missing: see "ctl verify"`);
}
