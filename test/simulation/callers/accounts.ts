import { digestOf } from '#accounts/api-key';
import type { Limits } from '#accounts/plan';
import type { AccountStore } from '#storage/ports/accounts';
import { WORLD_START_MS } from '#test/simulation/world';
import { addKey } from '#test/storage/contracts/stored-keys';

/** Digits after `account` in an id. Account ids have 12 characters (decision 41). */
const DIGITS = 5;

/** Id of the account at an index of the scenario's list of accounts. */
export function accountIdOf(index: number): string {
  return `account${String(index).padStart(DIGITS, '0')}`;
}

/** Digest of an account's only API key. */
export function keyDigestOf(accountId: string): string {
  const known = digests.get(accountId) ?? digestOf(`the key of ${accountId}`);
  digests.set(accountId, known);
  return known;
}

const digests = new Map<string, string>();

/** Creates one account per entry of `plans`. Each account has one API key of scope `full`. */
export async function openAccounts(
  accounts: AccountStore,
  plans: readonly Limits[],
): Promise<void> {
  for (const [place, limits] of plans.entries()) {
    const id = accountIdOf(place);
    const plan = 'enterprise';
    const createdAtMs = WORLD_START_MS;
    await accounts.create({ id, name: id, plan, status: 'active', limits, createdAtMs });
    const digest = keyDigestOf(id);
    await addKey(accounts, id, { id: 'key_1', digest, scope: 'full', createdAtMs });
  }
}
