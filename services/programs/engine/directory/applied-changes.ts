import type { AccountListing } from '#engine/directory/account-listing';
import type { FleetIndex, IndexedUntil } from '#engine/directory/fleet-index';
import type { Indexed } from '#engine/directory/indexed-values';
import type { FeedView } from '#engine/feed/feed';
import { digestOf } from '#engine/feed/pages';
import { isNoted, TRANSITIONS } from '#identity/transitions';
import type { FeedRow } from '#storage/ports/feeds';

const DELETED = TRANSITIONS.indexOf('deleted');

/** Whether the feed has the row before a position, and all rows after it. */
export function isContinued({ position, digest }: IndexedUntil, view: FeedView): boolean {
  if (position < view.floor || position > view.next) return false;
  return view.previous === undefined || digest === 0 || digestOf(view.previous) === digest;
}

/**
 * Applies rows of the feed from a position on to the index of a listing. `atMs`: time at which the
 * feed had no row after these, in Unix milliseconds.
 */
export function applyRows(
  listing: AccountListing,
  from: number,
  rows: readonly FeedRow[],
  atMs: number,
): void {
  const { index } = listing;
  if (index === undefined || index.until.position !== from) return;
  for (const row of rows) applyRow(listing, index, row, atMs);
  const last = rows.at(-1);
  const digest = last === undefined ? index.until.digest : digestOf(last);
  index.advanced({ position: from + rows.length, digest, atMs });
}

function applyRow(
  listing: AccountListing,
  index: FleetIndex,
  [instanceId, version, changeAtMs, transitions]: FeedRow,
  nowMs: number,
): void {
  const row = listing.rowOf(instanceId);
  if (transitions.some(([type]) => type === DELETED)) {
    if (row !== undefined) listing.remove(instanceId, version);
    return;
  }
  const flags = transitions.at(-1)?.[2];
  if (flags === undefined) return;
  const changedAtMs = isNoted(transitions) ? changeAtMs : undefined;
  const change = { version, flags, changedAtMs };
  if (row === undefined) index.changeAhead(instanceId, change);
  else index.change(row, change, nowMs);
}

/** A read of some instances for an index. */
export type IndexRead = {
  readonly ids: readonly string[];
  /** Index of the listing when the read began. */
  readonly index: FleetIndex | undefined;
  /** Number of listing rows of the index when the read began. */
  readonly puts: number;
};

/**
 * Applies the answers of owners to the index for which they were read. Returns the number of
 * answers. A newer index does not take them: it may follow the feed from behind their changes.
 */
export function applyRead(
  listing: AccountListing,
  { ids, index, puts }: IndexRead,
  { values, unanswered }: Indexed,
  nowMs: number,
): number {
  if (index === undefined || listing.index !== index) return 0;
  for (const id of ids) {
    const row = listing.rowOf(id);
    const found = values.get(id);
    if (row === undefined || unanswered.has(id)) continue;
    if (found === undefined) index.missed(row, puts);
    else index.learn(row, found, nowMs);
  }
  index.postpone(unanswered);
  return ids.length - unanswered.size;
}
