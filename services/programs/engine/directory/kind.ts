import type { ActorCall, ActorKind } from '#actor-runtime/actor-kind';
import type { SideEffect, Turn } from '#actor-runtime/turn';
import {
  AccountListing,
  type ListedPage,
  type ListingPage,
} from '#engine/directory/account-listing';
import { faultFor } from '#errors/fault';
import { type Clock, sleep } from '#stdlib/clock';
import type { InstanceHead } from '#storage/ports/instances';
import {
  type ListedInstance,
  type ListingRow,
  type ListingStore,
  listedOf,
} from '#storage/ports/listings';

/** Command of an account's directory. */
type DirectoryCommand =
  | { readonly kind: 'put'; readonly accountId: string; readonly row: ListedInstance }
  | { readonly kind: 'remove'; readonly instanceId: string; readonly version: number }
  | { readonly kind: 'reserve'; readonly instanceId: string; readonly instancesMax: number }
  | { readonly kind: 'page'; readonly page: ListingPage };

/** A command as a call to the actor. */
export type DirectoryCall = ActorCall & DirectoryCommand;

/** Number of rows sorted in before other actors get a turn: a few milliseconds. */
const ROWS_PER_SLICE = 256;

/**
 * Number of instances after the call, or number of rows that a search found; and the rows of a
 * page.
 */
export type DirectoryAnswer = ListedPage & {
  /**
   * Finishes a search while other calls of the account run; undefined if the answer is complete.
   */
  readonly searched?: () => Promise<ListedPage>;
};

/**
 * Maximum number of concurrent searches per process. Each search copies its rows, at 8 bytes per
 * row. Source: decision 254.
 */
const SEARCHES_MAX = 16;

/**
 * The account directory as a kind of durable actor: one account's listing in memory. It commits
 * nothing, because every row is stored before the directory is notified (architecture 3.6).
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
      // A million instances take many seconds to load. Yield, so that other actors do not wait.
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

  /** Starts a search on a copy of the rows. `searched` of the answer runs the remaining slices. */
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
   * Handles a row of an instance without row or reserved place. Either its create was before this
   * directory was loaded, or the instance has been deleted since. The store decides, because it
   * gets both changes first.
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

  /** False while places are reserved, because reserved places exist in memory only. */
  isEvictable(listing: AccountListing, nowMs: number): boolean {
    return !listing.isKeepingPlaces(nowMs);
  }
}

/**
 * Listing of accounts, as instances see it. Instances notify the listing of every change before
 * they answer. `traceparent`: span of the call that makes the change.
 */
export interface Directory {
  /** Fulfils when the row is stored and the account's directory has it. Idempotent. */
  put(accountId: string, row: ListingRow, traceparent?: string): Promise<void>;
  /**
   * Fulfils when the account's directory has reserved a place for an instance that is about to be
   * created. Rejects with `forbidden` when the account has `instancesMax` instances. Idempotent.
   */
  reserve(
    accountId: string,
    instanceId: string,
    instancesMax: number,
    traceparent?: string,
  ): Promise<void>;
  /** Fulfils when the row is deleted and the account's directory has dropped it. Idempotent. */
  remove(
    accountId: string,
    instanceId: string,
    version: number,
    traceparent?: string,
  ): Promise<void>;
}

/** Side effect that notifies the listing of an instance's present state, deleted or not. */
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
