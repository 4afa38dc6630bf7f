import type { ApiKeyRecord } from '#accounts/account';
import type { AccountAdmin } from '#limiter/account-admin';
import { type Route, read } from '#limiter/admin-route';
import { GRACE_MS, KeyBody, KeyNameBody, KeyScopeBody, RotationBody } from '#limiter/admin-schema';
import { viewOfKey, viewOfUsedKey } from '#limiter/key-views';

/** What the admin port does with the keys of accounts. */
export const KEY_ROUTES: readonly Route[] = [
  {
    method: 'POST',
    path: /^\/accounts\/(?<account>\w+)\/keys$/,
    change: 'key.create',
    async answer(admin, { body, by }, { account }, nowMs) {
      const { name, scope, expires_at, networks } = read(KeyBody, body);
      const expiresAtMs = expires_at === undefined ? undefined : Date.parse(expires_at);
      const request = { name, scope, expiresAtMs, networks, createdBy: by };
      const { key, record } = await admin.createKey(account, request);
      return { ...viewOfKey(record, nowMs), key };
    },
  },
  {
    method: 'GET',
    path: /^\/accounts\/(?<account>\w+)\/keys$/,
    answer: async (admin, _request, { account }, nowMs) =>
      (await admin.listKeys(account)).map((key) => viewOfUsedKey(key, nowMs)),
  },
  {
    method: 'PUT',
    path: /^\/accounts\/(?<account>\w+)\/keys\/(?<key>\w+)\/name$/,
    change: 'key.rename',
    answer: async (admin, { body }, { account, key }, nowMs) =>
      viewOfKey(await admin.renameKey(account, key, read(KeyNameBody, body).name), nowMs),
  },
  {
    method: 'PUT',
    path: /^\/accounts\/(?<account>\w+)\/keys\/(?<key>\w+)\/scope$/,
    change: 'key.scope',
    answer: async (admin, { body }, { account, key }, nowMs) =>
      viewOfKey(await admin.setKeyScope(account, key, read(KeyScopeBody, body).scope), nowMs),
  },
  {
    method: 'POST',
    path: /^\/accounts\/(?<account>\w+)\/keys\/(?<key>\w+)\/rotate$/,
    change: 'key.rotate',
    async answer(admin, { body, by }, { account, key: keyId }, nowMs) {
      const graceMs = GRACE_MS[read(RotationBody, body).grace];
      const { key, record, replaced } = await admin.rotateKey(account, keyId, graceMs, by);
      return { ...viewOfKey(record, nowMs), key, replaced: viewOfKey(replaced, nowMs) };
    },
  },
  changing('POST', /^\/accounts\/(?<account>\w+)\/keys\/(?<key>\w+)\/disable$/, {
    change: 'key.disable',
    run: (admin, account, key) => admin.disableKey(account, key),
  }),
  changing('POST', /^\/accounts\/(?<account>\w+)\/keys\/(?<key>\w+)\/enable$/, {
    change: 'key.enable',
    run: (admin, account, key) => admin.enableKey(account, key),
  }),
  changing('DELETE', /^\/accounts\/(?<account>\w+)\/keys\/(?<key>\w+)$/, {
    change: 'key.revoke',
    run: (admin, account, key) => admin.revokeKey(account, key),
  }),
];

/** A route that changes one key and takes no body. */
function changing(
  method: 'POST' | 'DELETE',
  path: RegExp,
  {
    change,
    run,
  }: {
    readonly change: string;
    readonly run: (admin: AccountAdmin, account: string, key: string) => Promise<ApiKeyRecord>;
  },
): Route {
  return {
    method,
    path,
    change,
    answer: async (admin, _request, { account, key }, nowMs) =>
      viewOfKey(await run(admin, account, key), nowMs),
  };
}
