import * as assert from 'uvu/assert';

type Pagination = { readonly has_more: boolean; readonly next_cursor: string | null };

/** Pagination without its cursor, which must be present if more entries follow. */
export function placeOf<Page extends Pagination>(pagination: Page): Omit<Page, 'next_cursor'> {
  const { next_cursor, ...place } = pagination;
  assert.is(next_cursor !== null, pagination.has_more);
  return place;
}
