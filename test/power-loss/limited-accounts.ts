import { type NewAccount, newAccount } from '#deploy/local/new-account';
import { LIMITS } from '#test/chaos/chaos-run';
import { adminTokenFile } from '#test/support/calls/admin-token';

/** An account. `quota` is in cycles per month, and `madeMs` is the creation in monotonic ms. */
export type LimitedAccount = NewAccount & { readonly quota: number; readonly madeMs: number };

/** Creates an account for each quota; undefined for unlimited. */
export async function limitedAccounts(
  adminUrl: string,
  quotas: readonly (number | undefined)[],
): Promise<LimitedAccount[]> {
  const accounts: LimitedAccount[] = [];
  for (const [place, quota = LIMITS.cycles_per_month] of quotas.entries()) {
    const limits = { ...LIMITS, cycles_per_month: quota };
    const made = await newAccount(adminUrl, `account ${place + 1}`, limits, adminTokenFile());
    accounts.push({ ...made, quota, madeMs: performance.now() });
  }
  return accounts;
}
