import {
  type Account,
  type AccountWithKeys,
  type ApiKeyRecord,
  isKept,
  withModel,
} from '#accounts/account';
import { Fault } from '#fault/fault';
import type { Clock } from '#platform/clock';
import type { AccountStore } from '#storage/account-store';

type Row = { account: Account; keys: ApiKeyRecord[] };

/** Accounts of a process that forgets them when it ends (interface 1.8). */
export function memoryAccountStore(clock: Pick<Clock, 'wallMs'>): AccountStore {
  const rows = new Map<string, Row>();

  const keptOf = ({ keys }: Row): ApiKeyRecord[] =>
    keys.filter((key) => isKept(key, clock.wallMs()));

  function rowOf(accountId: string): Row {
    const row = rows.get(accountId);
    if (row === undefined) throw new Fault('not_found', 'there is no such account');
    return row;
  }

  function changed(accountId: string, change: (account: Account) => Account): Account {
    const row = rowOf(accountId);
    row.account = structuredClone(change(row.account));
    return structuredClone(row.account);
  }

  return {
    async create(account) {
      if (rows.has(account.id)) throw new Fault('conflict', 'there is an account with this id');
      rows.set(account.id, { account: structuredClone(account), keys: [] });
    },
    async find(accountId): Promise<AccountWithKeys | undefined> {
      const row = rows.get(accountId);
      return row && structuredClone({ account: row.account, keys: keptOf(row) });
    },
    async list({ afterId, limit }) {
      return [...rows.keys()]
        .filter((id) => afterId === undefined || id > afterId)
        .sort()
        .slice(0, limit)
        .map((id) => structuredClone(rowOf(id).account));
    },
    setPlan: async (accountId, plan, limits) =>
      changed(accountId, (account) => ({ ...account, plan, limits })),
    setModel: async (accountId, chosen) =>
      changed(accountId, (account) => withModel(account, chosen)),
    setStatus: async (accountId, status) =>
      changed(accountId, (account) => ({ ...account, status })),
    async addKey(accountId, key) {
      const row = rowOf(accountId);
      const keys = keptOf(row);
      if (keys.some(({ id, digest }) => id === key.id || digest === key.digest)) {
        throw new Fault('conflict', 'the account has this key already');
      }
      row.keys = [...keys, structuredClone(key)];
    },
    async revokeKey(accountId, keyId, revokedAtMs) {
      const { keys } = rowOf(accountId);
      const at = keys.findIndex(({ id }) => id === keyId);
      const key = keys[at];
      if (key === undefined) throw new Fault('not_found', 'the account has no such key');
      const revoked = { ...key, revokedAtMs: key.revokedAtMs ?? revokedAtMs };
      keys[at] = revoked;
      return { ...revoked };
    },
  };
}
