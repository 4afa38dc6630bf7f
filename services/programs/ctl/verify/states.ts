import { PastStates, pastView } from '#engine/instance/past';
import { instanceFrom } from '#engine/instance/state';
import { toFault } from '#errors/fault';
import { MODELS } from '#identity/model';
import type { InstanceHead, InstanceStore } from '#storage/ports/instances';
import { type StatePosition, type StateRow, statePages } from '#storage/ports/states';

/* Separate from `heads.ts`, because a replay between stored states needs no branches. */

/** Reads that a verification of states needs. */
export type StatesStore = Pick<
  InstanceStore,
  'readHistory' | 'readDrift' | 'readStates' | 'findStates'
>;

/** Refusals that do not prove a wrong state: the next state is too far, or is the last one. */
const UNPROVEN: ReadonlySet<string | undefined> = new Set(['state_not_stored', 'unknown_cycle']);

/**
 * Replays the observations between the stored states of an instance, up to its head. Returns a
 * difference for each state from which the replay does not reach the next state bit for bit.
 * Rejects as the store does.
 */
export async function differingStates(
  store: StatesStore,
  instanceId: string,
  head: InstanceHead,
): Promise<string[]> {
  const view = pastView(instanceId, instanceFrom(head), MODELS);
  const nothing = () => undefined;
  const past = new PastStates(view, { store, models: MODELS, pause: nothing, onReplay: nothing });
  const differences: string[] = [];
  for await (const page of statePages(store, instanceId)) {
    for (const row of page) {
      if (!isWithin(row, head) || (await leadsOn(past, row))) continue;
      const { generation, cycle } = row;
      const where = `cycle ${cycle} of generation ${generation}`;
      differences.push(`the state at ${where} does not lead to the next state`);
    }
  }
  return differences;
}

/** Whether a state belongs to the head: not newer, and not before the floor. */
export function isWithin(
  row: StateRow,
  { generation, historyCount, floor }: InstanceHead,
): boolean {
  const isKept = floor === undefined || row.ordinal >= floor.history;
  return isKept && row.generation <= generation && row.ordinal <= historyCount;
}

/** Whether the replay of the cycle after a state reaches the next stored state. */
async function leadsOn(past: PastStates, { generation, cycle }: StatePosition): Promise<boolean> {
  try {
    await past.at(generation, [cycle + 1]);
    return true;
  } catch (error) {
    const { reason } = toFault(error);
    if (reason === 'replay_mismatch') return false;
    if (UNPROVEN.has(reason)) return true;
    throw error;
  }
}
