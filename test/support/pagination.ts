import * as assert from 'uvu/assert';

type Pagination = { readonly has_more: boolean; readonly next_cursor: string | null };

/** A page's place without its cursor, which must be there if there is more. */
export function placeOf<Page extends Pagination>(pagination: Page): Omit<Page, 'next_cursor'> {
  const { next_cursor, ...place } = pagination;
  assert.is(next_cursor !== null, pagination.has_more);
  return place;
}
