import type { ActorCall, ActorKind } from '#actor-runtime/actor-kind';
import type { SideEffect, Turn } from '#actor-runtime/turn';
import { AccountListing } from '#engine/directory/account-listing';
import type { IndexedUntil } from '#engine/directory/fleet-index';
import type { ListedPage } from '#engine/directory/listing-page';
import { type Fault, faultFor } from '#errors/fault';
import type { TagFields } from '#grpc/engine-messages';
import type { ListingPage } from '#grpc/list-cursor';
import { type Clock, sleep, TimeSlices } from '#stdlib/clock';
import type { HeldHead } from '#storage/ports/instances';
import {
  type ListedInstance,
  type ListingRow,
  type ListingStore,
  listedOf,
} from '#storage/ports/listings';

/** Command to an account's directory. */
type DirectoryCommand =
  | {
      readonly kind: 'put';
      readonly accountId: string;
      readonly row: ListedInstance;
      /** Tags of the instance at the version of the row, as JSON text. */
      readonly tagsJson?: string;
    }
  | { readonly kind: 'remove'; readonly instanceId: string; readonly version: number }
  | { readonly kind: 'reserve'; readonly instanceId: string; readonly instancesMax: number }
  | { readonly kind: 'page'; readonly page: ListingPage }
  /** Builds or reads the index of the listing. `use` must be short. */
  | { readonly kind: 'useIndex'; readonly use: (listing: AccountListing) => void };

/** A command as actor call. */
export type DirectoryCall = ActorCall & DirectoryCommand;

/** A search that yields after each time slice. */
type Searching = Generator<undefined, ListedPage>;

/** Time for which a load runs before other actors get a turn, in milliseconds. */
const LOAD_SLICE_MS = 8;

/**
 * Answer of a directory. `total` is the instance count after the call, or the number of rows that a
 * search found. `rows` are the rows of the requested page.
 */
export type DirectoryAnswer = ListedPage & {
  /** Position of the feed up to which a filtered page has all changes. */
  readonly indexedUntil?: IndexedUntil | undefined;
  /**
   * Completes a search while the account's other calls run; undefined if the answer is complete.
   */
  readonly searched?: () => Promise<ListedPage>;
};

/**
 * Maximum number of concurrent searches per process. A search keeps the blocks of its rows, at 8
 * bytes per row, although later changes replace them. Source: decision 254.
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
    const loading = state.load(await this.#store.listed(accountId));
    // Loading a million instances takes seconds.
    const slices = new TimeSlices(this.#clock, LOAD_SLICE_MS);
    while (loading.next().done !== true) await slices.next();
    return { state, version: 0, recentCalls: [] };
  }

  receive(
    listing: AccountListing,
    call: DirectoryCall,
    { wallMs }: Pick<Turn<never>, 'wallMs'>,
  ): DirectoryAnswer | Promise<DirectoryAnswer> {
    switch (call.kind) {
      case 'put':
        if (!listing.isExpecting(call.row.instanceId))
          return this.#putStored(listing, call, wallMs);
        listing.put(call.row, call.tagsJson, wallMs);
        return { total: listing.total, rows: [] };
      case 'remove':
        listing.remove(call.instanceId, call.version);
        return { total: listing.total, rows: [] };
      case 'reserve':
        listing.reserve(call.instanceId, call.instancesMax, wallMs);
        return { total: listing.total, rows: [] };
      case 'page': {
        const { search, filter, sort } = call.page;
        if (filter !== undefined || sort === 'changed_at')
          return this.#filtered(listing, call.page);
        if (search === undefined) return listing.page(call.page);
        return this.#begun((nowMs) => listing.search(search, call.page, nowMs));
      }
      case 'useIndex':
        call.use(listing);
        return { total: listing.total, rows: [] };
    }
  }

  /** Page that needs the index. Throws `index_rebuilding` without a complete index. */
  #filtered(listing: AccountListing, page: ListingPage): DirectoryAnswer {
    const { index } = listing;
    if (index === undefined || !index.isComplete) throw rebuilding();
    const { search, filter } = page;
    const indexedUntil = index.until;
    const matches = index.matches(filter);
    const begun = this.#begun((nowMs) => {
      if (page.sort === 'changed_at') return listing.byChange(search, page, nowMs, matches);
      return listing.search(search, page, nowMs, matches);
    });
    // Later slices of the search show the values that the filter has compared.
    if (begun.searched !== undefined) matches.keep();
    return { ...begun, indexedUntil };
  }

  /** Starts a search on copied rows. The answer's `searched` runs the remaining slices. */
  #begun(start: (nowMs: () => number) => Searching): DirectoryAnswer {
    if (this.#searches >= SEARCHES_MAX) {
      throw faultFor('overloaded', 'too many searches at once', { retryAfterS: 1 });
    }
    const searching = start(() => this.#clock.monotonicMs());
    const first = searching.next();
    if (first.done === true) return first.value;
    return { total: 0, rows: [], searched: () => this.#found(searching) };
  }

  async #found(searching: Searching): Promise<ListedPage> {
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
    { accountId, row: { instanceId, version }, tagsJson }: Extract<DirectoryCall, { kind: 'put' }>,
    wallMs: number,
  ): Promise<DirectoryAnswer> {
    const stored = await this.#store.find(accountId, instanceId);
    // Tags of another version are read from the owner of the instance.
    const tags = stored?.version === version ? tagsJson : undefined;
    if (stored !== undefined) listing.put(listedOf(stored), tags, wallMs);
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

/** Row of an instance and its tags at the version of the row. The tags are not stored in the row. */
type AnnouncedRow = ListingRow & TagFields;

/** Refusal while the index of an account is not complete. Source: decision 325. */
export function rebuilding(): Fault {
  const text = 'the index of the account is being built; retry in a second';
  return faultFor('index_rebuilding', text, { retryAfterS: 1 });
}

/**
 * Account listings, as used by instances. An instance notifies the listing before it answers a
 * changing call. `traceparent`: span of the call.
 */
export interface Directory {
  /** Fulfils when the store and the account's directory have the row. Idempotent. */
  put(accountId: string, row: AnnouncedRow, traceparent?: string): Promise<void>;
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
  { accountId, version, name, description, createdAtMs, deletedAtMs, tagsJson }: HeldHead,
  directory: Directory,
  traceparent?: string,
): SideEffect {
  if (deletedAtMs !== undefined) {
    return () => directory.remove(accountId, instanceId, version, traceparent);
  }
  const tags = tagsJson === undefined ? {} : { tagsJson };
  const row = { instanceId, version, name, description, createdAtMs, ...tags };
  return () => directory.put(accountId, row, traceparent);
}
