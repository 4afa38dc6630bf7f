import { newestRows } from '#storage/chunk-rows';
import type { DriftRow, HistoryRow, InstanceHead, InstanceStore } from '#storage/instance-store';
import { DRIFT_EVENTS, OBSERVATIONS } from '#storage/packed-rows';

/** Which rows are wanted: with ordinals from `newest` downwards, at most `count`. */
type Wanted = { readonly newest: number; readonly count: number };

/**
 * Stored observations of an instance, newest first: those of its head, and what of the others is in
 * chunks. Rejects as the store does.
 */
export async function storedHistory(
  store: Pick<InstanceStore, 'readHistory'>,
  instanceId: string,
  { newestHistory, historyCount }: InstanceHead,
  wanted: Wanted,
): Promise<HistoryRow[]> {
  const inHead = newestRows(OBSERVATIONS, instanceId, newestHistory, historyCount);
  return joined(inHead, newestHistory.after, wanted, (newest, count) =>
    store.readHistory(instanceId, newest, count),
  );
}

/** The same of drift events. */
export async function storedDrift(
  store: Pick<InstanceStore, 'readDrift'>,
  instanceId: string,
  { newestDrift, driftCount }: InstanceHead,
  wanted: Wanted,
): Promise<DriftRow[]> {
  const inHead = newestRows(DRIFT_EVENTS, instanceId, newestDrift, driftCount);
  return joined(inHead, newestDrift.after, wanted, (newest, count) =>
    store.readDrift(instanceId, newest, count),
  );
}

async function joined<Row extends { readonly ordinal: number }>(
  inHead: readonly Row[],
  after: number,
  { newest, count }: Wanted,
  readChunks: (newest: number, count: number) => Promise<Row[]>,
): Promise<Row[]> {
  const end = newest - count;
  const top = inHead.filter(({ ordinal }) => ordinal <= newest && ordinal > end).reverse();
  const below = Math.min(newest, after);
  return below <= end ? top : [...top, ...(await readChunks(below, below - end))];
}
