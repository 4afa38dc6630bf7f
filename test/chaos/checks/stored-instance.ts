import { storedDrift, storedHistory } from '#storage/ports/chunks';
import type { DriftRow, HistoryRow, InstanceHead, InstanceStore } from '#storage/ports/instances';

/** Stored data of one instance, without keyed answers. */
export type StoredInstance = {
  readonly id: string;
  readonly head: InstanceHead | undefined;
  /** Rows of all generations, oldest first, including rows above the count in the head. */
  readonly history: readonly HistoryRow[];
  readonly drift: readonly DriftRow[];
};

/** Number of ordinals to read above the row count of the head. No row may have such an ordinal. */
const BEYOND = 1_000;

/** Reads an instance. `rowsMax` is the number of rows if all calls were applied. */
export async function readInstance(
  store: InstanceStore,
  id: string,
  rowsMax: number,
): Promise<StoredInstance> {
  const head = await store.readHead(id);
  const { historyCount = 0, driftCount = 0 } = head ?? {};
  const historyMost = Math.max(rowsMax, historyCount) + BEYOND;
  const driftMost = Math.max(rowsMax, driftCount) + BEYOND;
  const history = await store.readHistory(id, historyMost, historyMost - historyCount);
  const drift = await store.readDrift(id, driftMost, driftMost - driftCount);
  if (head !== undefined) {
    const allOf = (count: number) => ({ newest: count, count });
    history.push(...(await storedHistory(store, id, head, allOf(historyCount))));
    drift.push(...(await storedDrift(store, id, head, allOf(driftCount))));
  }
  return { id, head, history: history.reverse(), drift: drift.reverse() };
}
