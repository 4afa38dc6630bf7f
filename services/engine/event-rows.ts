import { headOf, type InstanceState } from '#engine/instance-state';
import { CorruptState } from '#storage/byte-reader';
import { trimmedOf } from '#storage/floor';
import type { DriftRow, HistoryRow, InstanceStore } from '#storage/instance-store';
import { storedDrift, storedHistory } from '#storage/stored-rows';

/** The rows of an instance by their ordinals, wherever they are. Rejects as the store does. */
export type EventRows = {
  /** Observations with ordinals from `first` to `last`, oldest first. */
  history(first: number, last: number): Promise<readonly HistoryRow[]>;
  /** The same of drift events. */
  drift(first: number, last: number): Promise<readonly DriftRow[]>;
  /** How many drift events the observations up to one have brought. */
  driftUpTo(observation: HistoryRow): Promise<number>;
};

type StoredRows<Row> = (wanted: { newest: number; count: number }) => Promise<Row[]>;

/** The rows of an instance as it is now: valid for a turn. */
export function eventRowsOf(
  instanceId: string,
  state: InstanceState,
  store: InstanceStore,
): EventRows {
  const head = headOf(state);
  const { history = [], drift = [] } = state.unstored ?? {};
  // What a head counts includes what came after it was stored.
  const stored = {
    ...head,
    historyCount: head.historyCount - history.length,
    driftCount: head.driftCount - drift.length,
  };
  const driftBetween = (first: number, last: number) =>
    rowsBetween({ first, last }, drift, stored.driftCount, (wanted) =>
      storedDrift(store, instanceId, stored, wanted),
    );
  return {
    history: (first, last) =>
      rowsBetween({ first, last }, history, stored.historyCount, (wanted) =>
        storedHistory(store, instanceId, stored, wanted),
      ),
    drift: driftBetween,
    driftUpTo: ({ generation, cycle }) =>
      lastUpTo(trimmedOf(head).drift, head.driftCount, async (ordinal) => {
        const [event] = await driftBetween(ordinal, ordinal);
        if (event === undefined)
          throw new CorruptState(`no drift event ${ordinal} of ${instanceId}`);
        const isEarlier = event.generation < generation;
        return isEarlier || (event.generation === generation && event.cycle <= cycle);
      }),
  };
}

/** Those in memory stand behind the `storedCount` that are in the head and in chunks. */
async function rowsBetween<Row>(
  { first, last }: { readonly first: number; readonly last: number },
  inMemory: readonly Row[],
  storedCount: number,
  read: StoredRows<Row>,
): Promise<readonly Row[]> {
  const top = inMemory.slice(Math.max(0, first - 1 - storedCount), Math.max(0, last - storedCount));
  const newest = Math.min(last, storedCount);
  if (first > newest) return top;
  const count = newest - first + 1;
  const below = await read({ newest, count });
  if (below.length < count) throw new CorruptState(`rows ${first} to ${newest} are not all there`);
  return [...below.reverse(), ...top];
}

/** The last of the ordinals above `from`, up to `to`, that still belongs; `from` if none does. */
async function lastUpTo(
  from: number,
  to: number,
  belongs: (ordinal: number) => Promise<boolean>,
): Promise<number> {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (await belongs(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}
