import { Fault } from '#errors/fault';

/** Row of an account's listing. Source: architecture 3.6. */
export type ListingRow = {
  readonly instanceId: string;
  /**
   * Version of the instance that wrote the row. A lower version never replaces a higher version.
   */
  readonly version: number;
  readonly name: string;
  readonly description: string;
  readonly createdAtMs: number;
};

/**
 * Part of a row that a directory keeps in memory. With descriptions, a directory could fill its
 * node's memory (decision 97).
 */
export type ListedInstance = Omit<ListingRow, 'description'>;

/**
 * Maximum size of an account's rows in its directory, in bytes. Enough for a million rows with
 * names of 200 bytes.
 */
const LISTING_BYTES_MAX = 384 * 1_024 * 1_024;

/**
 * Size of a listed instance in memory without its name, in bytes, including its entries in the
 * sorted orders.
 */
const LISTED_BYTES = 178;

/** Characters that V8 stores in two bytes. A single such character widens the whole text. */
const WIDE = /[\u0100-\uffff]/;

/** Page of an account's listing in the order of creation. Equal times are ordered by id. */
export type CreationPage = {
  readonly limit: number;
  readonly offset: number;
  readonly order: 'asc' | 'desc';
  /** Row before the page; undefined: the page begins at the first row. */
  readonly after: Pick<ListedInstance, 'createdAtMs' | 'instanceId'> | undefined;
};

/** Some rows of an account, and the number of its instances at the same time. */
export type ListedPart = { readonly total: number; readonly rows: readonly ListedInstance[] };

/** Listings of all accounts. Methods throw `service_unavailable`. */
export interface ListingStore {
  /** Writes a row unless a row or a removal with a higher version is stored. */
  put(accountId: string, row: ListingRow): Promise<void>;
  /** Removes a row permanently. A late `put` of a lower version does not restore the row. */
  remove(accountId: string, instanceId: string, version: number): Promise<void>;
  /**
   * All rows of an account without descriptions, in no particular order. Rejects as `overloaded` at
   * the first row above `bytesMax` and reads no further rows.
   */
  listed(accountId: string, bytesMax?: number): Promise<ListedInstance[]>;
  /**
   * Reads a page without the other rows of the account. Contains every change whose write was
   * answered before. Absent: the store does not keep rows in the order of creation.
   */
  byCreation?(accountId: string, page: CreationPage): Promise<ListedPart>;
  /** The row of one instance; undefined if no row was put or the row was removed. */
  find(accountId: string, instanceId: string): Promise<ListingRow | undefined>;
  /** All rows of an account, in no particular order. For tools. */
  load(accountId: string): Promise<ListingRow[]>;
}

/** Listings for tools, in pages. */
export interface PagedListings extends ListingStore {
  /**
   * All rows of an account in pages, in a stable order. Rows that change during the iteration may
   * be missing.
   */
  pages(accountId: string): AsyncIterable<readonly ListingRow[]>;
}

/** Row without its description. */
export function listedOf({ description: _, ...listed }: ListingRow): ListedInstance {
  return listed;
}

/** Approximate size of a listed instance in memory, in bytes. */
export function listedBytes({ name }: ListedInstance): number {
  return LISTED_BYTES + (WIDE.test(name) ? 2 * name.length : name.length);
}

/**
 * Returns a function that adds up the size of loaded rows. It throws `service_unavailable` at the
 * first row above the limit.
 */
export function listingBudget(bytesMax = LISTING_BYTES_MAX): (row: ListedInstance) => void {
  let bytes = 0;
  return (row) => {
    bytes += listedBytes(row);
    if (bytes <= bytesMax) return;
    const options = { reason: 'overloaded', retryAfterS: 1 } as const;
    throw new Fault('service_unavailable', 'the listing of the account is too large', options);
  };
}
