import type { SideEffect } from '#runtime/turn';
import type { InstanceHead } from '#storage/instance-store';
import type { ListingRow } from '#storage/listing-store';

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
