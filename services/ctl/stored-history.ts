import type { HistoryRow, InstanceStore } from '#storage/instance-store';

/** Rows of one read: as many as a page of the API has at most. */
const ROWS_PER_READ = 1_000;

/** The first `count` rows of an instance's stored history, oldest first. Rejects as the store does. */
export async function* storedHistory(
  store: InstanceStore,
  instanceId: string,
  count: number,
): AsyncGenerator<HistoryRow> {
  for (let read = 0; read < count; read += ROWS_PER_READ) {
    const newest = Math.min(count, read + ROWS_PER_READ);
    const rows = await store.readHistory(instanceId, newest, newest - read);
    yield* rows.reverse();
  }
}
