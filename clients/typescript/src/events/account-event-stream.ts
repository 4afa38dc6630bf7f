import { onAbort } from '../calls/abort.ts';
import type { CallOptions } from '../calls/call-options.ts';
import type { Caller } from '../calls/caller.ts';
import { ApiError, MalformedAnswerError } from '../errors.ts';
import { fromJson, type Integers } from '../json.ts';
import type { AccountEvent, EventsStart, EventType } from '../models.ts';
import type { EventBlock } from './event-block.ts';
import { type Arrived, EventFollower } from './event-follower.ts';

/** Start position, filter and cancellation of `client.events.follow`. */
export type FollowOptions = Pick<CallOptions, 'signal' | 'requestId' | 'headers'> & {
  /** Cursor of the last handled item, or `next_cursor` of a page. */
  readonly cursor?: string | undefined;
  /** Where to begin without a cursor. Default: `newest`, after the newest event. */
  readonly start?: EventsStart | undefined;
  /** Wanted types. Default: all types but `contract_changed` and `mode_changed`. */
  readonly types?: readonly EventType[] | undefined;
};

/** An event of the account. */
export type FollowedEvent = {
  readonly type: 'event';
  readonly event: AccountEvent;
  /** Store this cursor after you have handled the event, to resume after the event. */
  readonly cursor: string;
};

/**
 * Events are missing before the next event: they are no longer kept, or the service was restored
 * from a backup. Read the instances that matter again.
 */
export type FollowedGap = {
  readonly type: 'gap';
  /** Cursor before the gap. A consumer that resumes there gets the gap again. */
  readonly cursor: string;
};

/** An item of `client.events.follow`. */
export type Followed = FollowedEvent | FollowedGap;

/**
 * Events of all instances of the account, for `for await`. Reconnects after the last item, and never
 * ends by itself. Events of one instance are in order. An event may be repeated with the same `id`.
 *
 * Throws permanent errors: an `ApiError` such as `UnauthorizedError`, or `InvalidRequestError` for an
 * invalid cursor; a `RateLimitedError` if the account has too many streams for longer than
 * `timeoutMs`; or the abort reason. Each stream has its own connection. Reading is on demand: a
 * consumer that does not read applies back-pressure.
 */
export class AccountEventStream implements AsyncIterable<Followed> {
  readonly #caller: Caller;
  readonly #options: FollowOptions;
  readonly #items: AsyncGenerator<Followed, void>;
  #follower: EventFollower<AccountBlock>;
  #arrivals: AsyncGenerator<Arrived<AccountBlock>, void>;
  #cursor: string | undefined;
  #isClosed = false;

  /** Created by `client.events.follow()`. */
  constructor(caller: Caller, options: FollowOptions) {
    this.#caller = caller;
    this.#options = options;
    this.#cursor = options.cursor;
    this.#follower = this.#followerFrom(options.cursor, options.start);
    this.#arrivals = this.#follower.events();
    this.#items = this.#untilClosed();
    const end = this.#items.return.bind(this.#items);
    // A generator's own `return` would wait for the pending item.
    this.#items.return = (value) => {
      this.close();
      return end(value);
    };
  }

  /** Ends the iteration, even while it waits for an item. Idempotent. */
  close(): void {
    this.#isClosed = true;
    this.#follower.close();
  }

  /**
   * Cursor after the last delivered item. While the iteration waits, the cursor also moves past
   * events that `types` hides. Undefined before the first answer of a stream without a cursor.
   */
  get cursor(): string | undefined {
    return this.#follower.lastEventId ?? this.#cursor;
  }

  /** The single iterator of this stream. Leaving the loop closes the connection. */
  [Symbol.asyncIterator](): AsyncGenerator<Followed, void> {
    return this.#items;
  }

  async *#untilClosed(): AsyncGenerator<Followed, void> {
    const { signal } = this.#options;
    signal?.throwIfAborted();
    const unlink = signal === undefined ? undefined : onAbort(signal, () => this.#follower.close());
    try {
      while (!this.#isClosed) yield await this.#next();
    } catch (error) {
      signal?.throwIfAborted();
      if (!this.#isClosed) throw error;
    } finally {
      unlink?.();
      await this.#arrivals.return();
    }
  }

  /** The next item. Throws the follower's errors, also if the stream was closed. */
  async #next(): Promise<Followed> {
    try {
      const { value } = await this.#arrivals.next();
      return itemOf(value?.event, value?.id);
    } catch (error) {
      const cursor = this.#follower.lastEventId;
      if (cursor === undefined || !isExpired(error)) throw error;
      this.#cursor = cursor;
      this.#follower = this.#followerFrom(undefined, 'oldest');
      this.#arrivals = this.#follower.events();
      return { type: 'gap', cursor };
    }
  }

  #followerFrom(after: string | undefined, start: EventsStart | undefined) {
    const { types, requestId, headers } = this.#options;
    const query = { types: types?.join(','), start };
    const source = { path: '/events', query, eventOf: accountBlockOf, isLast: () => false };
    return new EventFollower<AccountBlock>(this.#caller, source, { after, requestId, headers });
  }
}

/** An event of the account, or the message that events are missing. */
type AccountBlock = AccountEvent | 'gap';

/**
 * Event of a block; undefined for a block without an event, or with a message of a later release.
 * Throws if the data is not JSON.
 */
function accountBlockOf({ event, data }: EventBlock, integers: Integers): AccountBlock | undefined {
  if (event === undefined || data === undefined) return undefined;
  const value = fromJson(data, integers);
  if (event === 'gap') return 'gap';
  return isAccountEvent(value) ? value : undefined;
}

function isAccountEvent(value: unknown): value is AccountEvent {
  if (typeof value !== 'object' || value === null) return false;
  const { id, type } = value as Partial<AccountEvent>;
  return typeof id === 'string' && typeof type === 'string';
}

function itemOf(block: AccountBlock | undefined, cursor: string | undefined): Followed {
  if (block === undefined || cursor === undefined) {
    const text = JSON.stringify(block ?? '');
    throw new MalformedAnswerError({ status: 200, requestId: undefined, text }, false);
  }
  return block === 'gap' ? { type: 'gap', cursor } : { type: 'event', event: block, cursor };
}

/** Whether the events after a cursor are no longer kept. */
function isExpired(error: unknown): boolean {
  return error instanceof ApiError && error.reason === 'cursor_expired';
}
