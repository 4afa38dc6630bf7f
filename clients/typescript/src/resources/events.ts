import type { CallOptions } from '../calls/call-options.ts';
import type { Caller } from '../calls/caller.ts';
import { AccountEventStream, type FollowOptions } from '../events/account-event-stream.ts';
import type { AccountEvent, AccountEventsQuery, EventsPagination, EventType } from '../models.ts';
import { type Page, pageOf } from '../pages.ts';

/** Query of `client.events.list`. */
export type EventsPageQuery = Omit<AccountEventsQuery, 'types'> & {
  /** Wanted types. Default: all types but `contract_changed` and `mode_changed`. */
  readonly types?: readonly EventType[];
};

/** Events of the account: a log of the changes in all instances. */
export class Events {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /**
   * A page of events, oldest first, or newest first with `order: 'desc'`. `pagination.next_cursor` continues after the page, also if the
   * page is empty. `next()` requests the next page if `has_more`. With `desc`, the events after the
   * page follow `pagination.newer_cursor`.
   *
   * With `wait`, an answer without events waits up to this number of seconds for an event; `wait`
   * must be less than `attemptTimeoutMs`. Throws an `InvalidRequestError` with the reason
   * `cursor_expired` (410) if events after the cursor are no longer kept, or if the service was
   * restored from a backup. Then continue with `start: 'oldest'`, and read the instances that matter
   * again.
   */
  async list(
    query: EventsPageQuery = {},
    options: CallOptions = {},
  ): Promise<Page<AccountEvent, EventsPagination>> {
    const { types, ...rest } = query;
    const answer = await this.#caller.call({
      ...{ method: 'GET', path: '/events', query: { ...rest, types: types?.join(',') }, options },
      ...{ repeatable: 'always', isChange: false },
    });
    return pageOf<AccountEvent, EventsPagination>(answer, ({ pagination }) => {
      const { has_more: hasMore, next_cursor: cursor } = pagination;
      const { start: _, ...same } = query;
      return hasMore ? () => this.list({ ...same, cursor }, options) : undefined;
    });
  }

  /**
   * All events after a cursor, as they happen, for `for await`. Reconnects, and never ends by itself.
   * Each item has the cursor to store after you have handled the item. The item `gap` says that
   * events are missing.
   */
  follow(options: FollowOptions = {}): AccountEventStream {
    return new AccountEventStream(this.#caller, options);
  }
}
