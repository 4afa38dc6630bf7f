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
import { Fault } from '#errors/fault';

/** Maximum number of accounts per listing page: about 200 KiB. */
export const ACCOUNTS_PAGE_MAX = 1_000;

/**
 * Accounts and their keys. A write is durable when its promise fulfils, and every later read sees
 * the write. Arguments and results are copies. Methods reject with `service_unavailable` if the
 * store cannot be reached; a write may then have happened. All methods treat a deleted account as
 * missing, but its id stays taken.
 */
export interface AccountStore {
  /**
   * Adds an account without keys. Rejects with `conflict` if its id is taken; nothing changes then.
   */
  create(account: Account): Promise<void>;

  /**
   * Account with its keys, oldest first; undefined if there is none. Keys that expired more than 90
   * days ago are left out, revoked or not (`isKept`). Only `changeKeys` still receives such keys.
   */
  find(accountId: string): Promise<AccountWithKeys | undefined>;

  /**
   * Up to `limit` accounts ordered by id, starting after `afterId` (undefined: from the start). No
   * account with the id `afterId` needs to exist.
   */
  list(page: { afterId: string | undefined; limit: number }): Promise<Account[]>;

  /**
   * Sets the plan of an account with its limits, and the next plan with its start, if any. Rejects
   * with `not_found`, and with `conflict` while the account is being imported or deleted.
   */
  setPlan(accountId: string, setting: PlanSetting): Promise<Account>;

  /**
   * Sets the model of an account's instances; undefined: none. Setting the same model again changes
   * nothing. Rejects as `setPlan`.
   */
  setModel(accountId: string, modelVersion: string | undefined): Promise<Account>;

  /**
   * Sets the account's own retention; undefined: the retention of its plan. Setting the same
   * retention again changes nothing. Rejects as `setPlan`.
   */
  setRetention(accountId: string, own: Retention | undefined): Promise<Account>;

  /**
   * Suspends or resumes an account. Setting the same status again changes nothing. Rejects as
   * `setPlan`.
   */
  setStatus(accountId: string, status: SetStatus): Promise<Account>;

  /**
   * Changes the keys of an account, all or nothing. `decide` receives every stored key, oldest
   * first. These include keys that expired long ago by this clock, because the clock may be wrong.
   * A key that `decide` puts replaces the stored key with the same id, or is added as the newest
   * key. After a conflict with another writer, `decide` is called again. `decide` must have no side
   * effects, and its errors are passed on. Fulfils with the answer of `decide`.
   *
   * Rejects with `not_found` if the account does not exist. Rejects with `conflict` if a new key
   * has the digest of another key, or if `decide` puts a key while the account is being deleted.
   */
  changeKeys<Answer>(
    accountId: string,
    decide: (keys: readonly ApiKeyRecord[]) => KeyChange<Answer>,
  ): Promise<Answer>;
}

/** Change of an account's keys. If `put` is empty, nothing is written. */
export type KeyChange<Answer> = {
  readonly put: readonly ApiKeyRecord[];
  readonly answer: Answer;
};

/** Accounts with additional operations for tools. */
export interface ManagedAccounts extends AccountStore {
  /**
   * Revokes every key of an account permanently and refuses all later changes of the account. May
   * be repeated; the result is the progress of the deletion. Rejects with `not_found` if the
   * account never existed.
   */
  beginDeletion(accountId: string, revokedAtMs: number): Promise<'deleting' | 'deleted'>;

  /**
   * Deletes an account whose deletion has begun; only its id stays. May be repeated. Rejects with
   * `not_found` if the account never existed, and with `conflict` if its deletion has not begun.
   */
  endDeletion(accountId: string): Promise<void>;

  /**
   * Opens an imported account to its callers, with the given fields. An earlier attempt may have
   * created the account with other fields. Rejects with `conflict` if the account is not being
   * imported.
   */
  endImport(account: Account): Promise<Account>;

  /** Ids of deleted accounts in pages, in no particular order. */
  deletedIds(): AsyncIterable<readonly string[]>;
}

/* Rules for account changes by status. All implementations of `AccountStore` share these rules. */

/**
 * Builds the changes of an account's fields. `change` applies `next` to an account under an
 * optimistic lock. If `next` returns the same object, `change` need not write.
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

/** Throws `conflict` while an account is being imported or deleted. */
function assertChangeable(account: Account): void {
  if (account.status === 'importing') throw new Fault('conflict', 'the account is being imported');
  assertNotDeleting(account);
}

/** Throws `conflict` while an account is being deleted. */
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
 * Keys in `put` whose ids are not in `keys`. Throws `conflict` for a new key with the digest of
 * another key, because digests identify callers.
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
 * Keys of an account after a put (`AccountStore.changeKeys`). If keys are added, keys that expired
 * long ago are dropped. Throws as `newOnes`.
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

/** Last use of a key: minute and caller. */
export type KeyUse = {
  /** Digest of the key. */
  readonly digest: string;
  /** Unix time in whole minutes. */
  readonly minute: number;
  /** Address of the caller in the format of `addressText`; undefined if it is not an address. */
  readonly address: string | undefined;
  /**
   * Name of the calling program, as given by the program; undefined if the program gave no name.
   */
  readonly client: string | undefined;
};

/**
 * Last uses of keys. The later minute wins, even if notes arrive late or twice. If two notes have
 * the same minute, one of them is kept as a whole. Methods reject with `service_unavailable` if the
 * store cannot be reached; the note may then have been stored.
 */
export interface KeyUseStore {
  /** Stores a use. */
  note(accountId: string, use: KeyUse): Promise<void>;
  /** Last uses of all keys of an account that were ever used, in no particular order. */
  find(accountId: string): Promise<readonly KeyUse[]>;
  /** Deletes the uses of an account permanently. Later notes are dropped. May be repeated. */
  erase(accountId: string): Promise<void>;
}
