import type { Account, ApiKeyRecord } from '#accounts/account';
import { Fault } from '#fault/fault';

/* What may be done to an account, by its status; every `AccountStore` refuses the same. */

/** Throws `conflict` while an account is imported or deleted. */
export function assertChangeable(account: Account): void {
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
export function assertImporting({ status }: Account): void {
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
