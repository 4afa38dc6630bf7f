import type { DriftRow, HistoryRow, InstanceHead, InstanceStore } from '#storage/instance-store';

/** Everything that the stores hold of one instance but its answers. */
export type StoredInstance = {
  readonly id: string;
  readonly head: InstanceHead | undefined;
  /** Oldest first; of every generation, and whatever lies beyond what the head names. */
  readonly history: readonly HistoryRow[];
  readonly drift: readonly DriftRow[];
};

/** Rows looked for beyond the newest that a head names: there must be none. */
const BEYOND = 1_000;

/** Reads an instance from the stores alone; `rowsMax` is the most rows that it can have had. */
export async function readInstance(
  store: InstanceStore,
  id: string,
  rowsMax: number,
): Promise<StoredInstance> {
  const head = await store.readHead(id);
  const historyMost = Math.max(rowsMax, head?.historyCount ?? 0) + BEYOND;
  const driftMost = Math.max(rowsMax, head?.driftCount ?? 0) + BEYOND;
  const history = await store.readHistory(id, historyMost, historyMost);
  const drift = await store.readDrift(id, driftMost, driftMost);
  return { id, head, history: history.reverse(), drift: drift.reverse() };
}
