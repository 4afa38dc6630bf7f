import {
  type Account,
  type AccountWithKeys,
  type ApiKeyRecord,
  isKept,
  withModel,
  withRetention,
} from '#accounts/account';
import { withPlan } from '#accounts/plan-change';
import { Fault } from '#fault/fault';
import type { Clock } from '#platform/clock';
import {
  assertChangeable,
  assertDeleting,
  assertImporting,
  assertNotDeleting,
} from '#storage/account-changes';
import type { ManagedAccounts } from '#storage/account-store';

type Row = { account: Account; keys: ApiKeyRecord[] };

/** Accounts of a process that forgets them when it ends (interface 1.8). */
export function memoryAccountStore(clock: Pick<Clock, 'wallMs'>): ManagedAccounts {
  const rows = new Map<string, Row>();
  const deleted = new Set<string>();

  const keptOf = ({ keys }: Row): ApiKeyRecord[] =>
    keys.filter((key) => isKept(key, clock.wallMs()));

  const rowOf = (accountId: string): Row => rowIn(rows, accountId);
  const changed = (accountId: string, change: (account: Account) => Account): Account =>
    changedIn(rows, accountId, (account) => {
      assertChangeable(account);
      return change(account);
    });

  return {
    async create(account) {
      const isTaken = rows.has(account.id) || deleted.has(account.id);
      if (isTaken) throw new Fault('conflict', 'there is an account with this id');
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
    setPlan: async (accountId, setting) =>
      changed(accountId, (account) => withPlan(account, setting)),
    setModel: async (accountId, chosen) =>
      changed(accountId, (account) => withModel(account, chosen)),
    setRetention: async (accountId, own) =>
      changed(accountId, (account) => withRetention(account, own)),
    setStatus: async (accountId, status) =>
      changed(accountId, (account) => ({ ...account, status })),
    async addKey(accountId, key) {
      const row = rowOf(accountId);
      assertNotDeleting(row.account);
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
    ...lifeOf(rows, deleted),
  };
}

type Rows = Map<string, Row>;

/** How accounts come by import and go for good. */
function lifeOf(
  rows: Rows,
  deleted: Set<string>,
): Pick<ManagedAccounts, 'beginDeletion' | 'endDeletion' | 'endImport'> {
  return {
    async beginDeletion(accountId, revokedAtMs) {
      if (deleted.has(accountId)) return 'deleted';
      const row = rowIn(rows, accountId);
      row.keys = row.keys.map((key) => ({ revokedAtMs, ...key }));
      changedIn(rows, accountId, (account) => ({ ...account, status: 'deleting' }));
      return 'deleting';
    },
    async endDeletion(accountId) {
      if (deleted.has(accountId)) return;
      assertDeleting(rowIn(rows, accountId).account);
      rows.delete(accountId);
      deleted.add(accountId);
    },
    async endImport(opened) {
      assertImporting(rowIn(rows, opened.id).account);
      return changedIn(rows, opened.id, () => opened);
    },
  };
}

function rowIn(rows: Rows, accountId: string): Row {
  const row = rows.get(accountId);
  if (row === undefined) throw new Fault('not_found', 'there is no such account');
  return row;
}

function changedIn(rows: Rows, accountId: string, change: (was: Account) => Account): Account {
  const row = rowIn(rows, accountId);
  row.account = structuredClone(change(row.account));
  return structuredClone(row.account);
}
