import { storedDrift, storedHistory } from '#storage/ports/chunks';
import type { DriftRow, HistoryRow, InstanceHead, InstanceStore } from '#storage/ports/instances';
import { groupOf } from '#test/actor-runtime/commit-log/journal-records';
import type { CheckedStores } from '#test/chaos/checks/stores';
import { type Call, markOf } from '#test/chaos/load/call-log';
import { appendOf } from '#test/storage/contracts/journal-fixture';
import { memoryJournalStore } from '#test/storage/memory/journal-store';
import { ManualClock } from '#test/support/manual-clock';

/** Wraps stores and changes the data read for one instance. */
export function spoilt(
  { instances, listings }: CheckedStores,
  id: string,
  changes: {
    head?: (head: InstanceHead) => InstanceHead | undefined;
    history?: (rows: HistoryRow[]) => HistoryRow[];
    drift?: (rows: DriftRow[]) => DriftRow[];
    answers?: InstanceStore['findAnswer'];
  },
): CheckedStores {
  const { head = (same) => same, history, drift } = changes;
  // A changed store returns the newest rows as chunks instead of in the head. `history` and `drift`
  // then change all rows.
  const emptied = (found: InstanceHead): InstanceHead => ({
    ...found,
    ...(history && { newestHistory: { after: found.historyCount, rows: '' } }),
    ...(drift && { newestDrift: { after: found.driftCount, rows: '' } }),
  });
  return {
    listings,
    instances: {
      ...instances,
      async readHead(instance) {
        const found = await instances.readHead(instance);
        return instance === id && found !== undefined ? head(emptied(found)) : found;
      },
      async readHistory(instance, newest, count) {
        const found = await instances.readHead(instance);
        if (instance !== id || history === undefined || found === undefined) {
          return instances.readHistory(instance, newest, count);
        }
        return history(await storedHistory(instances, id, found, { newest, count }));
      },
      async readDrift(instance, newest, count) {
        const found = await instances.readHead(instance);
        if (instance !== id || drift === undefined || found === undefined) {
          return instances.readDrift(instance, newest, count);
        }
        return drift(await storedDrift(instances, id, found, { newest, count }));
      },
      findAnswer: (instance, key, oldestMs) =>
        instance === id && changes.answers !== undefined
          ? changes.answers(instance, key, oldestMs)
          : instances.findAnswer(instance, key, oldestMs),
    },
  };
}

/** A store with empty listings. */
export const NO_LISTINGS = {
  put: async () => undefined,
  remove: async () => undefined,
  listed: async () => [],
  find: async () => undefined,
  load: async () => [],
};

/** A history with one row of a call. */
export function rowsLike({ id }: Call): HistoryRow[] {
  const contextJson = JSON.stringify({ mark: markOf(id, 0) });
  const row = { ordinal: 1, generation: 1, cycle: 1, mode: 0, signal: 0, confidence: 0 };
  return [{ ...row, contextJson, timestampMs: 0 }];
}

/** Wraps stores and changes one listing entry. */
export function withLine(
  { instances, listings }: CheckedStores,
  id: string,
  name: string,
): CheckedStores {
  return {
    instances,
    listings: {
      ...listings,
      async load(account) {
        const lines = (await listings.load(account)).filter(({ instanceId }) => instanceId !== id);
        return [...lines, { instanceId: id, version: 1, name, description: '', createdAtMs: 0 }];
      },
    },
  };
}

/** A journal with one record of a higher version than the instance's head. */
export function journalOf(actorId: string) {
  const journals = memoryJournalStore(new ManualClock());
  const record = { actor: 'instance', actorId, version: 999, callId: 1, atMs: 0, event: {} };
  void journals.begin('one', '127.0.0.1:1');
  void journals.append(appendOf('one', 0, groupOf([record])));
  return journals;
}
