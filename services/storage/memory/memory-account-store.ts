import { type Account, type AccountWithKeys, type ApiKeyRecord, isKept } from '#accounts/account';
import { Fault } from '#fault/fault';
import type { Clock } from '#platform/clock';
import {
  assertDeleting,
  assertNotDeleting,
  fieldChangesOf,
  withKeys,
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

/** How accounts go for good. */
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
