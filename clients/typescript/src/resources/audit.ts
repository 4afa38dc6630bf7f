import type { CallOptions } from '../calls/call-options.ts';
import type { Caller } from '../calls/caller.ts';
import type { AuditLine, AuditQuery, CursorPagination } from '../models.ts';
import { type Page, pageOf, rowsOf } from '../pages.ts';

/** The audit trail of the account (interface 4.5). */
export class Audit {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** A page of lines, newest first. An empty page may still have a next page. */
  async list(
    query: AuditQuery = {},
    options: CallOptions = {},
  ): Promise<Page<AuditLine, CursorPagination>> {
    const answer = await this.#caller.call({
      ...{ method: 'GET', path: '/audit', query, options },
      ...{ repeatable: 'always', isChange: false },
    });
    return pageOf<AuditLine, CursorPagination>(answer, ({ pagination }) => {
      const cursor = pagination.next_cursor;
      return cursor === null ? undefined : () => this.list({ ...query, cursor }, options);
    });
  }

  /** All lines, with one page in memory at a time. */
  iterate(query: AuditQuery = {}, options: CallOptions = {}): AsyncIterable<AuditLine> {
    return rowsOf(() => this.list({ limit: PAGE_ROWS, ...query }, options));
  }
}

/** Iterator page size: the service's maximum. Source: interface 4.5. */
const PAGE_ROWS = 100;
