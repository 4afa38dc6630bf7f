import { type Account, type AccountWithKeys, type ApiKeyRecord, isKept } from '#accounts/account';
import { Fault } from '#errors/fault';
import type { Clock } from '#stdlib/clock';
import {
  assertDeleting,
  assertNotDeleting,
  fieldChangesOf,
  type KeyUse,
  type KeyUseStore,
  type ManagedAccounts,
  withKeys,
} from '#storage/ports/accounts';

type Row = { account: Account; keys: ApiKeyRecord[] };

/** Accounts in memory, lost when the process ends (interface 1.8). */
export function memoryAccountStore(clock: Pick<Clock, 'wallMs'>): ManagedAccounts {
  const rows = new Map<string, Row>();
  const deleted = new Set<string>();

  const keptOf = ({ keys }: Row): ApiKeyRecord[] =>
    keys.filter((key) => isKept(key, clock.wallMs()));

  const rowOf = (accountId: string): Row => rowIn(rows, accountId);

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
    ...fieldChangesOf(async (accountId, next) => changedIn(rows, accountId, next)),
    async changeKeys(accountId, decide) {
      const row = rowOf(accountId);
      const { put, answer } = decide(structuredClone(row.keys));
      if (put.length === 0) return answer;
      assertNotDeleting(row.account);
      row.keys = structuredClone(withKeys(row.keys, put, clock.wallMs()));
      return answer;
    },
    ...lifeOf(rows, deleted),
  };
}

type Rows = Map<string, Row>;

/** Deletion of accounts. */
function lifeOf(
  rows: Rows,
  deleted: Set<string>,
): Pick<ManagedAccounts, 'beginDeletion' | 'endDeletion' | 'deletedIds'> {
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
    async *deletedIds() {
      if (deleted.size > 0) yield [...deleted];
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

/** Last uses of keys in memory, lost when the process ends (interface 1.8). */
export function memoryKeyUseStore(): KeyUseStore {
  const accounts = new Map<string, Map<string, KeyUse>>();
  const erased = new Set<string>();

  return {
    async note(accountId, use) {
      if (erased.has(accountId)) return;
      const uses = accounts.get(accountId) ?? new Map<string, KeyUse>();
      accounts.set(accountId, uses);
      if (use.minute >= (uses.get(use.digest)?.minute ?? 0)) uses.set(use.digest, { ...use });
    },
    async find(accountId) {
      return structuredClone([...(accounts.get(accountId)?.values() ?? [])]);
    },
    async erase(accountId) {
      accounts.delete(accountId);
      erased.add(accountId);
    },
  };
}
