import type { Answer } from './answer.ts';
import { IdentityEngineError } from './errors.ts';
import type { AnswerFacts, Result } from './result.ts';

/** One page of a list. */
export type Page<T, P> = Result<T[]> & {
  /** What the service says of the whole list. */
  readonly pagination: P;
  /** The page behind this one, with the same options; undefined behind the last one. */
  next(): Promise<Page<T, P> | undefined>;
};

/** How the page behind one is asked for; undefined where there is none. */
export type NextPage<T, P> = (page: {
  readonly data: readonly T[];
  readonly pagination: P;
}) => (() => Promise<Page<T, P>>) | undefined;

/** A page out of an answer. */
export function pageOf<T, P>({ facts, body }: Answer, nextPage: NextPage<T, P>): Page<T, P> {
  const data = body?.data as T[];
  const pagination = body?.pagination as P;
  const next = async () => nextPage({ data, pagination })?.();
  return { ...(facts satisfies AnswerFacts), data, isNotModified: false, pagination, next };
}

/** The rows of a list, page by page: the next page is asked for when its first row is, and no earlier. */
export async function* rowsOf<T, P>(first: () => Promise<Page<T, P>>): AsyncGenerator<T, void> {
  for (let page: Page<T, P> | undefined = await first(); page; page = await page.next()) {
    yield* page.data;
  }
}

/** What a list in pages is asked for. */
type RowsQuery = { readonly limit?: number; readonly offset?: number; readonly cursor?: string };

/** What such a list says of itself; a list that was sent whole has only its `total`. */
type RowsPagination = {
  readonly total: number;
  readonly has_more?: unknown;
  readonly next_cursor?: unknown;
};

/**
 * The next page of a list, behind the rows that were received: by its cursor, with which rows that come or go
 * meanwhile neither hide nor repeat others (interface 4.2). Services before 1.1 have offsets only.
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
