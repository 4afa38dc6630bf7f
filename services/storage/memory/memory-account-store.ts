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
  newOnes,
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
    async changeKeys(accountId, decide) {
      const row = rowOf(accountId);
      const { put, answer } = decide(structuredClone(row.keys));
      if (put.length === 0) return answer;
      assertNotDeleting(row.account);
      const added = newOnes(row.keys, put);
      const stored = new Map(structuredClone(put).map((key) => [key.id, key]));
      // What has expired long ago makes room for what comes.
      const isLeft = (key: ApiKeyRecord) =>
        added.length === 0 || stored.has(key.id) || isKept(key, clock.wallMs());
      const left = row.keys.filter(isLeft).map((key) => stored.get(key.id) ?? key);
      row.keys = [...left, ...added.map((key) => stored.get(key.id) ?? key)];
      return answer;
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
