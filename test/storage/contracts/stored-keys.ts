import type { ApiKeyRecord } from '#accounts/account';
import { withRevoked } from '#limiter/keys/changes';
import type { AccountStore } from '#storage/ports/accounts';

type Keys = Pick<AccountStore, 'changeKeys'>;

/** Adds a key unconditionally. */
export async function addKey(store: Keys, accountId: string, key: ApiKeyRecord): Promise<void> {
  await store.changeKeys(accountId, () => ({ put: [key], answer: undefined }));
}

/** Revokes a key in a store without notifying a limiter. */
export async function revokeKey(
  store: Keys,
  accountId: string,
  keyId: string,
  atMs: number,
): Promise<ApiKeyRecord> {
  return await store.changeKeys(accountId, (keys) => withRevoked(keys, keyId, atMs));
}
