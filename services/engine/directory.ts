import type { ListingRow } from '#storage/listing-store';

/** The listing of accounts as instances see it: told of every change before it is answered. */
export interface Directory {
  /** Fulfils when the row is stored and the account's directory knows it. May be repeated. */
  put(accountId: string, row: ListingRow): Promise<void>;
  /** Fulfils when the row is gone for good and the account's directory knows. May be repeated. */
  remove(accountId: string, instanceId: string, version: number): Promise<void>;
}
