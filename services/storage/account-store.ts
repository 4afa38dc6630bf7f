import type { Account, AccountWithKeys, ApiKeyRecord, SetStatus } from '#accounts/account';
import type { PlanSetting } from '#accounts/plan';
import type { Retention } from '#accounts/retention';

/** The most accounts that one page of a listing may hold: about 200 KiB. */
export const ACCOUNTS_PAGE_MAX = 1_000;

/**
 * Accounts and their keys. Every write is durable when its promise fulfils and is seen by every
 * later read. What goes in and comes out is a copy. Every method rejects with
 * `service_unavailable` when the store cannot be reached; then a write may have happened.
 * An account that was deleted is one that does not exist, except that its id stays taken.
 */
export interface AccountStore {
  /** Adds an account without keys. Rejects with `conflict` if its id is taken: nothing changes. */
  create(account: Account): Promise<void>;

  /**
   * An account with its keys, oldest first; undefined if there is none. A key that expired 90 days
   * ago is gone, for every method but `changeKeys` and whether it was revoked or not (`isKept`).
   */
  find(accountId: string): Promise<AccountWithKeys | undefined>;

  /**
   * Up to `limit` accounts in the order of their ids, from the first one behind `afterId`
   * (undefined: from the start). Throws no fault for an id that does not exist.
   */
  list(page: { afterId: string | undefined; limit: number }): Promise<Account[]>;

  /**
   * Gives an account another plan with its limits, and the one that follows at a time or none,
   * instead of the one that was to follow. Rejects with `not_found`, and with `conflict` while the
   * account is imported or deleted.
   */
  setPlan(accountId: string, setting: PlanSetting): Promise<Account>;

  /**
   * Chooses the model of an account's instances, undefined: none; the same again changes nothing.
   * Rejects as `setPlan`.
   */
  setModel(accountId: string, modelVersion: string | undefined): Promise<Account>;

  /**
   * Gives an account a retention of its own, undefined: that of its plan again; the same again
   * changes nothing. Rejects as `setPlan`.
   */
  setRetention(accountId: string, own: Retention | undefined): Promise<Account>;

  /** Suspends or resumes an account; the same again changes nothing. Rejects as `setPlan`. */
  setStatus(accountId: string, status: SetStatus): Promise<Account>;

  /**
   * Changes the keys of an account as `decide` says: what it puts replaces the key of the same id,
   * or is added as the newest, all of it or nothing. `decide` is given every key that is stored,
   * oldest first, also those that this clock takes for gone, because the clock may be wrong. It is
   * called again when another writer came first, must do nothing else, and what it throws is
   * rejected with. Fulfils with its answer. Rejects with `not_found` if there is no such account,
   * and with `conflict` if a new key has the digest of another, or something is put while the
   * account is being deleted.
   */
  changeKeys<Answer>(
    accountId: string,
    decide: (keys: readonly ApiKeyRecord[]) => KeyChange<Answer>,
  ): Promise<Answer>;
}

/** What becomes of an account's keys; nothing is written where nothing is put. */
export type KeyChange<Answer> = {
  readonly put: readonly ApiKeyRecord[];
  readonly answer: Answer;
};

/** Accounts with what only tools do to them. */
export interface ManagedAccounts extends AccountStore {
  /**
   * Revokes every key of an account for good and refuses every change of it from then on. May be
   * repeated: answers what has become of it. Rejects with `not_found` if it never was.
   */
  beginDeletion(accountId: string, revokedAtMs: number): Promise<'deleting' | 'deleted'>;

  /**
   * Forgets an account whose deletion has begun: all but its id goes.
   * May be repeated. Rejects with `not_found` if it never was and with `conflict` if it lives.
   */
  endDeletion(accountId: string): Promise<void>;

  /**
   * Opens an imported account to its callers, as it is given: an earlier try may have begun it
   * otherwise. Rejects with `conflict` if it is not being imported.
   */
  endImport(account: Account): Promise<Account>;

  /** The ids of accounts that were deleted, page by page, in no particular order. */
  deletedIds(): AsyncIterable<readonly string[]>;
}
