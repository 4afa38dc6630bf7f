import type { Account, AccountStatus, AccountWithKeys, ApiKeyRecord } from '#accounts/account';
import type { Limits, Plan } from '#accounts/plan';

/** The most accounts that one page of a listing may hold: about 200 KiB. */
export const ACCOUNTS_PAGE_MAX = 1_000;

/**
 * Accounts and their keys. Every write is durable when its promise fulfils and is seen by every
 * later read. What goes in and comes out is a copy. Every method rejects with
 * `service_unavailable` when the store cannot be reached; then a write may have happened.
 */
export interface AccountStore {
  /** Adds an account without keys. Rejects with `conflict` if its id is taken: nothing changes. */
  create(account: Account): Promise<void>;

  /**
   * An account with its keys, oldest first; undefined if there is none. A key that expired 90 days
   * ago is gone, for every method but `revokeKey` and whether it was revoked or not (`isKept`).
   */
  find(accountId: string): Promise<AccountWithKeys | undefined>;

  /**
   * Up to `limit` accounts in the order of their ids, from the first one behind `afterId`
   * (undefined: from the start). Throws no fault for an id that does not exist.
   */
  list(page: { afterId: string | undefined; limit: number }): Promise<Account[]>;

  /** Gives an account another plan with its limits. Rejects with `not_found`. */
  setPlan(accountId: string, plan: Plan, limits: Limits): Promise<Account>;

  /**
   * Chooses the model of an account's instances, undefined: none; the same again changes nothing.
   * Rejects with `not_found`.
   */
  setModel(accountId: string, modelVersion: string | undefined): Promise<Account>;

  /** Suspends or resumes an account; the same again changes nothing. Rejects with `not_found`. */
  setStatus(accountId: string, status: AccountStatus): Promise<Account>;

  /**
   * Adds a key. Rejects with `not_found` if there is no such account and with `conflict` if the
   * account already has a key with this id or digest.
   */
  addKey(accountId: string, key: ApiKeyRecord): Promise<void>;

  /**
   * Revokes a key for good and answers it. One that is revoked already keeps its first time. A key
   * that this clock takes for gone is revoked as long as it is stored: the clock may be wrong.
   * Rejects with `not_found` if the account or the key does not exist.
   */
  revokeKey(accountId: string, keyId: string, revokedAtMs: number): Promise<ApiKeyRecord>;
}
