import {
  type Account,
  type ApiKeyRecord,
  isKept,
  withModel,
  withRetention,
} from '#accounts/account';
import { withPlan } from '#accounts/plan-change';
import { Fault } from '#fault/fault';
import type { ManagedAccounts } from '#storage/account-store';

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
