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

/** Command to an account's directory. */
type DirectoryCommand =
  | { readonly kind: 'put'; readonly accountId: string; readonly row: ListedInstance }
  | { readonly kind: 'remove'; readonly instanceId: string; readonly version: number }
  | { readonly kind: 'reserve'; readonly instanceId: string; readonly instancesMax: number }
  | { readonly kind: 'page'; readonly page: ListingPage };

/** A command as actor call. */
export type DirectoryCall = ActorCall & DirectoryCommand;

/** Number of rows that are inserted before other actors get a turn. Takes a few milliseconds. */
const ROWS_PER_SLICE = 256;

/**
 * Answer of a directory. `total` is the instance count after the call, or the number of rows that a
 * search found. `rows` are the rows of the requested page.
 */
export type DirectoryAnswer = ListedPage & {
  /**
   * Completes a search while the account's other calls run; undefined if the answer is complete.
   */
  readonly searched?: () => Promise<ListedPage>;
};

/**
 * Maximum number of concurrent searches per process. A search copies its rows, at 8 bytes per row.
 * Source: decision 254.
 */
const SEARCHES_MAX = 16;

/**
 * The account directory as a durable actor: an account's listing in memory. Commits nothing,
 * because instances store each row before they notify the directory (architecture 3.6).
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
      // Loading a million instances takes many seconds. Yield, so that other actors need not wait.
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

  /** Starts a search on copied rows. The answer's `searched` runs the remaining slices. */
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
   * Handles a row for an instance without row or reservation. Either the create preceded this
   * directory's load, or the instance has been deleted since. The store decides, because the store
   * receives both changes first.
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

  /** False while reservations exist, because reservations are only in memory. */
  isEvictable(listing: AccountListing, nowMs: number): boolean {
    return !listing.isKeepingPlaces(nowMs);
  }
}

/**
 * Account listings, as used by instances. An instance notifies the listing before it answers a
 * changing call. `traceparent`: span of the call.
 */
export interface Directory {
  /** Fulfils when the store and the account's directory have the row. Idempotent. */
  put(accountId: string, row: ListingRow, traceparent?: string): Promise<void>;
  /**
   * Fulfils when the account's directory has a reservation for the instance. Rejects with
   * `forbidden` if the account already has `instancesMax` instances. Idempotent.
   */
  reserve(
    accountId: string,
    instanceId: string,
    instancesMax: number,
    traceparent?: string,
  ): Promise<void>;
  /** Fulfils when the store and the account's directory have dropped the row. Idempotent. */
  remove(
    accountId: string,
    instanceId: string,
    version: number,
    traceparent?: string,
  ): Promise<void>;
}

/** Side effect that sends the instance's present state to the listing, including deletion. */
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
