import { type AccountWithKeys, isKept } from '#accounts/account';
import { Fault } from '#errors/fault';
import type { Clock } from '#stdlib/clock';
import {
  ACCOUNTS_PAGE_MAX,
  assertDeleting,
  assertNotDeleting,
  fieldChangesOf,
  type KeyUse,
  type KeyUseStore,
  type ManagedAccounts,
  withKeys,
} from '#storage/ports/accounts';
import type { Row, SqliteDatabase, SqlValue } from '#storage/sqlite/database';
import { changeRevised, type RevisedChange, RevisedTable } from '#storage/sqlite/revised-table';
import { CheckedTable, rowPages, textIn, wholeIn } from '#storage/sqlite/tables';

/** State of an account row; null for a deleted account, which keeps only its id. */
type Stored = AccountWithKeys | null;

type Change<Answer> = RevisedChange<Stored, Answer>;

const ACCOUNTS = new RevisedTable<Stored>('accounts', 'account_id');

const PAGE = ACCOUNTS.select(
  'WHERE account_id > ? AND state IS NOT NULL ORDER BY account_id LIMIT ?',
);

const DELETED = ACCOUNTS.select(
  `WHERE account_id > ? AND state IS NULL ORDER BY account_id LIMIT ${ACCOUNTS_PAGE_MAX}`,
);

/**
 * Accounts in an SQLite file. A single row holds an account and its keys. The caller closes
 * `database`.
 */
export function sqliteAccountStore(
  database: SqliteDatabase,
  clock: Pick<Clock, 'wallMs'>,
): ManagedAccounts {
  const find = async (accountId: string): Promise<Stored | undefined> =>
    (await ACCOUNTS.find(database, 'account_read', accountId))?.state;

  const decided = <Answer>(
    accountId: string,
    decide: (was: Stored | undefined) => Change<Answer>,
  ): Promise<Answer> =>
    changeRevised({ database, table: ACCOUNTS, key: accountId, operation: 'account' }, decide);

  const changed = <Answer>(
    accountId: string,
    decide: (was: AccountWithKeys) => Change<Answer>,
  ): Promise<Answer> => decided(accountId, (was) => decide(existing(was)));

  return {
    async create(account) {
      const statements = [ACCOUNTS.put(account.id, undefined, { account, keys: [] })];
      const isCreated = await database.write({ operation: 'account_create', statements });
      if (!isCreated) throw new Fault('conflict', 'there is an account with this id');
    },
    async find(accountId) {
      const found = (await find(accountId)) ?? undefined;
      return found && { ...found, keys: found.keys.filter((key) => isKept(key, clock.wallMs())) };
    },
    async list({ afterId = '', limit }) {
      const values = [afterId, Math.min(limit, ACCOUNTS_PAGE_MAX)];
      const rows = await database.read({ operation: 'account_list', sql: PAGE, values });
      return ACCOUNTS.rowsOf(rows).flatMap(({ state }) => state?.account ?? []);
    },
    ...fieldChangesOf((accountId, next) =>
      changed(accountId, ({ account: was, keys }) => {
        const account = next(was);
        return account === was ? { answer: account } : { put: { account, keys }, answer: account };
      }),
    ),
    changeKeys: (accountId, decide) =>
      changed(accountId, ({ account, keys: were }) => {
        const { put, answer } = decide(were);
        if (put.length === 0) return { answer };
        assertNotDeleting(account);
        return { put: { account, keys: withKeys(were, put, clock.wallMs()) }, answer };
      }),
    beginDeletion: (accountId, revokedAtMs) =>
      decided<'deleting' | 'deleted'>(accountId, (was) => {
        if (was === null) return { answer: 'deleted' };
        const { account, keys } = existing(was);
        const put = {
          account: { ...account, status: 'deleting' as const },
          keys: keys.map((key) => ({ revokedAtMs, ...key })),
        };
        return { put, answer: 'deleting' };
      }),
    endDeletion: (accountId) =>
      decided(accountId, (was) => {
        if (was === null) return { answer: undefined };
        assertDeleting(existing(was).account);
        return { put: null, answer: undefined };
      }),
    deletedIds: () => deletedIds(database),
  };
}

async function* deletedIds(database: SqliteDatabase): AsyncGenerator<readonly string[]> {
  await ACCOUNTS.assertWhole(database);
  const paging = { operation: 'account_list', sql: DELETED, pageRows: ACCOUNTS_PAGE_MAX };
  const valuesAfter = (after: SqlValue) => [after];
  for await (const rows of rowPages(database, { ...paging, valuesAfter, start: '', column: 0 })) {
    yield ACCOUNTS.keysOf(rows);
  }
}

/** Throws `not_found` if the account does not exist or was deleted. */
function existing(stored: Stored | undefined): AccountWithKeys {
  if (stored) return stored;
  throw new Fault('not_found', 'there is no such account');
}

const USES = new CheckedTable({
  name: 'key_uses',
  keys: ['account_id', 'digest'],
  others: ['minute', 'address', 'client'],
});

const OF_ACCOUNT = USES.select('WHERE account_id = ?');

/** Digest in the tombstone row of a deleted account. No key has this digest. */
const ERASED = '';

const IS_WANTED = `NOT EXISTS (SELECT 1 FROM key_uses WHERE account_id = ? AND digest = '')`;

/** Last use of each API key, in an SQLite file. The caller closes `database`. */
export function sqliteKeyUseStore(database: SqliteDatabase): KeyUseStore {
  return {
    async note(accountId, { digest, minute, address = null, client = null }) {
      const where = { condition: IS_WANTED, values: [accountId] };
      const row = [accountId, digest, minute, address, client];
      const statements = [USES.put(row, { unlessHigher: 'minute', where })];
      await database.write({ operation: 'key_use_write', statements });
    },
    async find(accountId) {
      const query = { operation: 'key_use_read', sql: OF_ACCOUNT, values: [accountId] };
      const rows = await USES.read(database, query);
      return rows.map(useIn).filter(({ digest }) => digest !== ERASED);
    },
    async erase(accountId) {
      const statements = [
        USES.delete('account_id = ?', [accountId]),
        USES.put([accountId, ERASED, 0, null, null]),
      ];
      await database.write({ operation: 'key_use_erase', statements });
    },
  };
}

function useIn(row: Row): KeyUse {
  return {
    digest: textIn(row, 1),
    minute: wholeIn(row, 2),
    address: row[3] === null ? undefined : textIn(row, 3),
    client: row[4] === null ? undefined : textIn(row, 4),
  };
}
