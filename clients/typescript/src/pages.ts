import type { Answer } from './answer.ts';
import { IdentityEngineError } from './errors.ts';
import type { AnswerFacts, Result } from './result.ts';

/** One page of a list. */
export type Page<T, P> = Result<T[]> & {
  /** Position of the page in the list. */
  readonly pagination: P;
  /** Requests the next page with the same options; undefined after the last page. */
  next(): Promise<Page<T, P> | undefined>;
};

/** Function that requests the next page. Undefined after the last page. */
export type NextPage<T, P> = (page: {
  readonly data: readonly T[];
  readonly pagination: P;
}) => (() => Promise<Page<T, P>>) | undefined;

/** Makes a page from an answer. */
export function pageOf<T, P>({ facts, body }: Answer, nextPage: NextPage<T, P>): Page<T, P> {
  const data = body?.data as T[];
  const pagination = body?.pagination as P;
  const next = async () => nextPage({ data, pagination })?.();
  return { ...(facts satisfies AnswerFacts), data, isNotModified: false, pagination, next };
}

/** Rows of a list. A page is requested only when its first row is needed. */
export async function* rowsOf<T, P>(first: () => Promise<Page<T, P>>): AsyncGenerator<T, void> {
  for (let page: Page<T, P> | undefined = await first(); page; page = await page.next()) {
    yield* page.data;
  }
}

/** Query of a paginated list. */
type RowsQuery = { readonly limit?: number; readonly offset?: number; readonly cursor?: string };

/** Pagination of a list; a complete list has only `total`. */
type RowsPagination = {
  readonly total: number;
  readonly has_more?: unknown;
  readonly next_cursor?: unknown;
};

/**
 * Requests the next page by cursor, so that concurrent inserts and deletes neither hide nor repeat
 * rows (interface 4.2). Services before 1.1 support only offsets.
 */
export function nextByCursor<T, Q extends RowsQuery, P extends RowsPagination>(
  query: Q,
  load: (query: Q) => Promise<Page<T, P>>,
): NextPage<T, P> {
  return ({ data, pagination }) => {
    const { next_cursor: cursor } = pagination;
    if (cursor === null) return undefined;
    if (typeof cursor === 'string') {
      const { offset: _, ...rest } = query;
      return () => load({ ...rest, cursor } as Q);
    }
    const offset = (query.offset ?? 0) + data.length;
    const hasMore = pagination.has_more ?? offset < pagination.total;
    if (hasMore !== true) return undefined;
    if (data.length === 0) throw new IdentityEngineError('an empty page has has_more set');
    return () => load({ ...query, offset });
  };
}
