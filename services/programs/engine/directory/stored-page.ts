import type { ListedPage } from '#engine/directory/listing-page';
import type { InstancesCursor, ListingPage } from '#grpc/list-cursor';
import type { ListedPart, ListingStore } from '#storage/ports/listings';

/** Maximum offset of a page that is read from the store, which passes over the rows before. */
const OFFSET_MAX = 1_000;

/**
 * Reads a page in the order of creation from the store, for a directory that is not loaded yet.
 * Equals the page of the directory, because instances store each row before they notify the
 * directory (architecture 3.6). A change that is not answered yet can be in this page and not in
 * the next one. Undefined: only the directory can answer.
 */
export function storedPage(
  store: ListingStore,
  accountId: string,
  page: ListingPage,
): Promise<ListedPage> | undefined {
  const { sort, search, filter, limit, offset, order, cursor } = page;
  const isByCreation = sort === 'created_at' && search === undefined && filter === undefined;
  if (store.byCreation === undefined || !isByCreation || offset > OFFSET_MAX) return undefined;
  // A further row shows whether another page follows.
  const part = { limit: limit + 1, offset, order, after: cursor };
  return store.byCreation(accountId, part).then((found) => pageOf(page, found));
}

function pageOf(
  { limit, offset, order, cursor }: ListingPage,
  { total, rows: found }: ListedPart,
): ListedPage {
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  if (last === undefined) return { total, rows };
  const { createdAtMs, instanceId } = last;
  const seen = (cursor?.seen ?? offset) + rows.length;
  const place = { seen, createdAtMs, instanceId, byName: undefined };
  const next: InstancesCursor = { sort: 'created_at', order, search: undefined, ...place };
  return { total, rows, next };
}
