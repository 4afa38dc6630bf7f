/** One line of an account's listing. Source: architecture 3.6. */
export type ListingRow = {
  readonly instanceId: string;
  /** The instance's version that wrote the row; a lower one never replaces a higher. */
  readonly version: number;
  readonly name: string;
  readonly description: string;
  readonly createdAtMs: number;
};

/** The listings of all accounts. Methods throw `service_unavailable`. */
export interface ListingStore {
  /** Writes a row unless a higher version, or a removal at one, is already there. */
  put(accountId: string, row: ListingRow): Promise<void>;
  /** Removes a row for good; a late `put` of a lower version does not bring it back. */
  remove(accountId: string, instanceId: string, version: number): Promise<void>;
  /** All rows of an account, in no particular order. */
  load(accountId: string): Promise<ListingRow[]>;
}
