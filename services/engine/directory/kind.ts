import {
  AccountListing,
  type ListedPage,
  type ListingPage,
} from '#engine/directory/account-listing';
import { faultFor } from '#fault/fault';
import { type Clock, sleep } from '#platform/clock';
import type { ActorCall, ActorKind } from '#runtime/actor-kind';
import type { SideEffect, Turn } from '#runtime/turn';
import type { InstanceHead } from '#storage/ports/instances';
import {
  type ListedInstance,
  type ListingRow,
  type ListingStore,
  listedOf,
} from '#storage/ports/listings';

/** What goes into an account's directory. */
type DirectoryCommand =
  | { readonly kind: 'put'; readonly accountId: string; readonly row: ListedInstance }
  | { readonly kind: 'remove'; readonly instanceId: string; readonly version: number }
  | { readonly kind: 'reserve'; readonly instanceId: string; readonly instancesMax: number }
  | { readonly kind: 'page'; readonly page: ListingPage };

/** A command as a call. */
export type DirectoryCall = ActorCall & DirectoryCommand;

/** Rows that are sorted in before others get their turn: a few milliseconds. */
const ROWS_PER_SLICE = 256;

/**
 * The listing's length after the call, or how many rows a search has found, and the rows of a page.
 */
export type DirectoryAnswer = ListedPage & {
  /** Ends a search; undefined: there was none. Other calls of the account run meanwhile. */
  readonly searched?: () => Promise<ListedPage>;
};

/** Searches under way at once in a process: each has a copy of its rows, 8 bytes for each. Decision 254. */
const SEARCHES_MAX = 16;

/**
 * The account directory as a kind of durable actor: one account's listing in memory. It commits
 * nothing of its own, because every row is stored before it hears of it (architecture 3.6).
 */
export class DirectoryKind implements ActorKind<AccountListing, DirectoryCall, DirectoryAnswer> {
  readonly name = 'directory';
  readonly #store: ListingStore;
  readonly #clock: Clock;
  #searches = 0;

  constructor(store: ListingStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  async activate(accountId: string) {
    const state = new AccountListing(this.#clock.wallMs());
    const rows = await this.#store.listed(accountId);
    for (let start = 0; start < rows.length; start += ROWS_PER_SLICE) {
      // A million instances take many seconds, in which the node's other actors must not wait.
      if (start > 0) await sleep(this.#clock, 0);
      for (const row of rows.slice(start, start + ROWS_PER_SLICE)) state.put(row);
    }
    return { state, version: 0, recentCalls: [] };
  }

  receive(
    listing: AccountListing,
    call: DirectoryCall,
    { wallMs }: Pick<Turn<never>, 'wallMs'>,
  ): DirectoryAnswer | Promise<DirectoryAnswer> {
    switch (call.kind) {
      case 'put':
        if (!listing.isExpecting(call.row.instanceId)) return this.#putStored(listing, call);
        listing.put(call.row);
        return { total: listing.total, rows: [] };
      case 'remove':
        listing.remove(call.instanceId, call.version);
        return { total: listing.total, rows: [] };
      case 'reserve':
        listing.reserve(call.instanceId, call.instancesMax, wallMs);
        return { total: listing.total, rows: [] };
      case 'page': {
        const { search } = call.page;
        if (search !== undefined) return this.#begun(listing, search, call.page);
        return listing.page(call.page);
      }
    }
  }

  /** Takes the rows of a search; what the search finds follows when its slices have had their turns. */
  #begun(listing: AccountListing, text: string, page: ListingPage): DirectoryAnswer {
    if (this.#searches >= SEARCHES_MAX) {
      throw faultFor('overloaded', 'too many searches at once', { retryAfterS: 1 });
    }
    const searching = listing.search(text, page, () => this.#clock.monotonicMs());
    const first = searching.next();
    if (first.done === true) return first.value;
    return { total: 0, rows: [], searched: () => this.#found(searching) };
  }

  async #found(searching: ReturnType<AccountListing['search']>): Promise<ListedPage> {
    this.#searches += 1;
    try {
      for (;;) {
        await sleep(this.#clock, 0);
        const { done, value } = searching.next();
        if (done === true) return value;
      }
    } finally {
      this.#searches -= 1;
    }
  }

  /**
   * A row of an instance of which nothing is known: its create comes from before this directory was
   * loaded, or it has been deleted since. The store knows which, for it hears of both first.
   */
  async #putStored(
    listing: AccountListing,
    { accountId, row: { instanceId } }: Extract<DirectoryCall, { kind: 'put' }>,
  ): Promise<DirectoryAnswer> {
    const stored = await this.#store.find(accountId, instanceId);
    if (stored !== undefined) listing.put(listedOf(stored));
    return { total: listing.total, rows: [] };
  }

  sizeOf(listing: AccountListing): number {
    return listing.bytes;
  }

  isAbsent(listing: AccountListing): boolean {
    return listing.isBlank;
  }

  /** A place that is kept stands nowhere else. */
  isEvictable(listing: AccountListing, nowMs: number): boolean {
    return !listing.isKeepingPlaces(nowMs);
  }
}

/**
 * The listing of accounts as instances see it: notified of every change before it is answered;
 * `traceparent` is of the call that changes something.
 */
export interface Directory {
  /** Fulfils when the row is stored and the account's directory knows it. May be repeated. */
  put(accountId: string, row: ListingRow, traceparent?: string): Promise<void>;
  /**
   * Fulfils when the account's directory keeps a place for an instance that is about to be created.
   * Rejects with `forbidden` when the account has `instancesMax`. May be repeated.
   */
  reserve(
    accountId: string,
    instanceId: string,
    instancesMax: number,
    traceparent?: string,
  ): Promise<void>;
  /** Fulfils when the row is gone for good and the account's directory knows. May be repeated. */
  remove(
    accountId: string,
    instanceId: string,
    version: number,
    traceparent?: string,
  ): Promise<void>;
}

/** Notifies the listing of an instance as it is now, deleted or not. */
export function announcementOf(
  instanceId: string,
  { accountId, version, name, description, createdAtMs, deletedAtMs }: InstanceHead,
  directory: Directory,
  traceparent?: string,
): SideEffect {
  if (deletedAtMs !== undefined) {
    return () => directory.remove(accountId, instanceId, version, traceparent);
  }
  const row = { instanceId, version, name, description, createdAtMs };
  return () => directory.put(accountId, row, traceparent);
}
