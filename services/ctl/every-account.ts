import type { Account } from '#accounts/account';
import type { ManagedAccounts } from '#storage/account-store';

/** Accounts of one read. */
const ACCOUNTS_PER_READ = 500;

/** All accounts, by id, read page by page: one that is made meanwhile may be left out. */
export async function* everyAccount(
  accounts: Pick<ManagedAccounts, 'list'>,
): AsyncGenerator<Account, void> {
  for (let afterId: string | undefined; ; ) {
    const page = await accounts.list({ afterId, limit: ACCOUNTS_PER_READ });
    yield* page;
    if (page.length < ACCOUNTS_PER_READ) return;
    afterId = page.at(-1)?.id;
  }
}
