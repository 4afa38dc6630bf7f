import { at } from '#bench/load/process-answer';

/** A page of `limit` items from `offset`, in a list of `total` items. */
type Page = { readonly limit: number; readonly offset: number; readonly total: number };

/**
 * Throws unless an answer has the pagination of this page. The last page has no cursor; the text of
 * other cursors may be anything.
 */
export function checkPagination(answer: unknown, page: Page): void {
  const { next_cursor: cursor, ...counts } = at(answer, ['pagination']) as Record<string, unknown>;
  const has_more = page.offset + page.limit < page.total;
  const right = JSON.stringify({ ...page, has_more, hasCursor: has_more });
  const found = JSON.stringify({ ...counts, hasCursor: cursor !== null });
  if (found !== right) throw new Error(`expected pagination ${right}, got ${found}`);
}
