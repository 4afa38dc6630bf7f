import { Fault } from '#fault/fault';

/** One line of an account's listing. Source: architecture 3.6. */
export type ListingRow = {
  readonly instanceId: string;
  /** The instance's version that wrote the row; a lower one never replaces a higher. */
  readonly version: number;
  readonly name: string;
  readonly description: string;
  readonly createdAtMs: number;
};

/** What a directory keeps of a row: descriptions would fill its node (decision 97). */
export type ListedInstance = Omit<ListingRow, 'description'>;

/**
 * Bytes of an account's rows that are loaded for its directory: a million with names of 200 bytes.
 */
const LISTING_BYTES_MAX = 384 * 1_024 * 1_024;

/** Bytes of a listed instance in memory, its places in the orders included, without its name. */
const LISTED_BYTES = 170;

/** What V8 keeps in two bytes: one such character is enough for a whole text. */
const WIDE = /[\u0100-\uffff]/;

/** The listings of all accounts. Methods throw `service_unavailable`. */
export interface ListingStore {
  /** Writes a row unless a higher version, or a removal at one, is already there. */
  put(accountId: string, row: ListingRow): Promise<void>;
  /** Removes a row for good; a late `put` of a lower version does not bring it back. */
  remove(accountId: string, instanceId: string, version: number): Promise<void>;
  /**
   * All rows of an account without descriptions, in no particular order. Rejects as `overloaded`
   * when they take more than `bytesMax`, before more of them are read.
   */
  listed(accountId: string, bytesMax?: number): Promise<ListedInstance[]>;
  /** The row of one instance; undefined if none was put, or it was removed. */
  find(accountId: string, instanceId: string): Promise<ListingRow | undefined>;
  /** All rows of an account, in no particular order; for tools. */
  load(accountId: string): Promise<ListingRow[]>;
}

/** Listings as tools go through them. */
export interface PagedListings extends ListingStore {
  /**
   * All rows of an account, a page at a time, in an order that is always the same. What is put or
   * removed meanwhile may be missing.
   */
  pages(accountId: string): AsyncIterable<readonly ListingRow[]>;
}

/** What a directory keeps of a row. */
export function listedOf({ description: _, ...listed }: ListingRow): ListedInstance {
  return listed;
}

/** Bytes that a listed instance takes in memory, roughly. */
export function listedBytes({ name }: ListedInstance): number {
  return LISTED_BYTES + (WIDE.test(name) ? 2 * name.length : name.length);
}

/** Counts what is loaded. Throws `service_unavailable` at the first row beyond the bound. */
export function listingBudget(bytesMax = LISTING_BYTES_MAX): (row: ListedInstance) => void {
  let bytes = 0;
  return (row) => {
    bytes += listedBytes(row);
    if (bytes <= bytesMax) return;
    const options = { reason: 'overloaded', retryAfterS: 1 } as const;
    throw new Fault('service_unavailable', 'the listing of the account is too large', options);
  };
}
