import type { Account } from '#accounts/account';
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
