import {
  type Account,
  type AccountWithKeys,
  type ApiKeyRecord,
  isKept,
  type SetStatus,
  withModel,
  withRetention,
} from '#accounts/account';
import type { PlanSetting, Retention } from '#accounts/plan';
import { withPlan } from '#accounts/plan-change';
import { Fault } from '#fault/fault';

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

/* What may be done to an account, by its status; every `AccountStore` does and refuses the same. */

/**
 * The changes of an account's fields, by a way to change one account while it is as it was read. That
 * need not write an account that is the same object again.
 */
export function fieldChangesOf(
  change: (accountId: string, next: (account: Account) => Account) => Promise<Account>,
): Pick<ManagedAccounts, 'setPlan' | 'setModel' | 'setRetention' | 'setStatus' | 'endImport'> {
  const changed = (accountId: string, next: (account: Account) => Account) =>
    change(accountId, (account) => {
      assertChangeable(account);
      return next(account);
    });

  return {
    setPlan: (accountId, setting) => changed(accountId, (account) => withPlan(account, setting)),
    setModel: (accountId, chosen) =>
      changed(accountId, (account) =>
        account.modelVersion === chosen ? account : withModel(account, chosen),
      ),
    setRetention: (accountId, own) =>
      changed(accountId, (account) =>
        account.retention === own ? account : withRetention(account, own),
      ),
    setStatus: (accountId, status) =>
      changed(accountId, (account) =>
        account.status === status ? account : { ...account, status },
      ),
    endImport: (opened) =>
      change(opened.id, (account) => {
        assertImporting(account);
        return opened;
      }),
  };
}

/** Throws `conflict` while an account is imported or deleted. */
function assertChangeable(account: Account): void {
  if (account.status === 'importing') throw new Fault('conflict', 'the account is being imported');
  assertNotDeleting(account);
}

/** Throws `conflict` while an account is deleted. */
export function assertNotDeleting({ status }: Account): void {
  if (status === 'deleting') throw new Fault('conflict', 'the account is being deleted');
}

/** Throws `conflict` unless the account is being deleted. */
export function assertDeleting({ status }: Account): void {
  if (status !== 'deleting') throw new Fault('conflict', 'the account is not being deleted');
}

/** Throws `conflict` unless the account is being imported. */
function assertImporting({ status }: Account): void {
  if (status !== 'importing') throw new Fault('conflict', 'the account is not being imported');
}

/**
 * Which of the keys that are put are new, the others being in `keys`. Throws `conflict` for one
 * with the digest of another key, by which callers are recognised.
 */
export function newOnes(
  keys: readonly ApiKeyRecord[],
  put: readonly ApiKeyRecord[],
): readonly ApiKeyRecord[] {
  const ids = new Set(keys.map(({ id }) => id));
  const added = put.filter(({ id }) => !ids.has(id));
  const digests = new Set(keys.map(({ digest }) => digest));
  for (const { digest } of added) {
    if (digests.has(digest)) throw new Fault('conflict', 'the account has this key already');
    digests.add(digest);
  }
  return added;
}

/**
 * The keys of an account with those that are put, as `AccountStore.changeKeys` says; what expired long
 * ago makes room for what comes. Throws as `newOnes`.
 */
export function withKeys(
  keys: readonly ApiKeyRecord[],
  put: readonly ApiKeyRecord[],
  nowMs: number,
): ApiKeyRecord[] {
  const added = newOnes(keys, put);
  const byId = new Map(put.map((key) => [key.id, key]));
  const isLeft = (key: ApiKeyRecord) =>
    added.length === 0 || byId.has(key.id) || isKept(key, nowMs);
  return [...keys.filter(isLeft).map((key) => byId.get(key.id) ?? key), ...added];
}

/** When and from where a key was used last, as of a minute. */
export type KeyUse = {
  /** Of the key. */
  readonly digest: string;
  /** Unix time in whole minutes. */
  readonly minute: number;
  /** Where the call came from, as `addressText` writes it; undefined: it was no address. */
  readonly address: string | undefined;
  /** The program that called, as it called itself; undefined: it did not. */
  readonly client: string | undefined;
};

/**
 * The last uses of keys. Of two notes on a key the later minute wins, whatever comes late or twice;
 * of two in the same minute one stays, whole. Every method rejects with `service_unavailable` when
 * the store cannot be reached; then a note may have been made.
 */
export interface KeyUseStore {
  /** Notes a use. */
  note(accountId: string, use: KeyUse): Promise<void>;
  /** The last use of every key of an account that has been used, in no order. */
  find(accountId: string): Promise<readonly KeyUse[]>;
  /** Removes those of an account for good: what is noted later is dropped. May be repeated. */
  erase(accountId: string): Promise<void>;
}
