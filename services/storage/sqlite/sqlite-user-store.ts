import { addressIn, signInName, type User } from '#accounts/user';
import { Fault } from '#fault/fault';
import type { SqliteDatabase, SqlValue, Statement } from '#storage/sqlite/database';
import { FIRST_REVISION, type Revised, RevisedTable } from '#storage/sqlite/revised-table';
import { rowPages } from '#storage/sqlite/row-pages';
import type { PagedUsers, StoredUser } from '#storage/user-store';

const USERS = new RevisedTable<User>('users', 'user_id');

const BY_EMAIL = USERS.select(`WHERE state ->> 'email' = ?`);

/** Users of one page: 1 MiB. */
const PAGE_USERS = 1_000;

const PAGE = USERS.select(`WHERE user_id > ? ORDER BY user_id LIMIT ${PAGE_USERS}`);

/** Users in a file. An index refuses a second one of an email. `database` stays the caller's. */
export function sqliteUserStore(database: SqliteDatabase): PagedUsers {
  const change = (statement: Statement) =>
    database.write({ operation: 'user_change', statements: [statement] });

  return {
    async create(user) {
      const isCreated = await change(USERS.put(user.id, undefined, rowOf(user)));
      if (isCreated) return { user, revision: FIRST_REVISION };
      throw new Fault('conflict', 'a user has this email');
    },
    async find(userId) {
      const found = await USERS.find(database, 'user_read', userId);
      return found && storedOf(found);
    },
    async findByEmail(email, accountId) {
      const name = signInName(accountId === undefined ? { email } : { email, accountId });
      const rows = await database.read({ operation: 'user_read', sql: BY_EMAIL, values: [name] });
      return USERS.rowsOf(rows).map(storedOf)[0];
    },
    async replace({ user: was, revision }, user) {
      const next = { ...user, id: was.id, ...addressIn(signInName(was)) };
      if (await change(USERS.put(was.id, revision, rowOf(next))))
        return { user: next, revision: revision + 1 };
      throw new Fault('conflict', 'the user was changed in between');
    },
    remove: ({ user: { id }, revision }) => change(USERS.remove(id, revision)),
    pages: () => pages(database),
  };
}

async function* pages(database: SqliteDatabase): AsyncGenerator<readonly User[]> {
  await USERS.assertWhole(database);
  const paging = { operation: 'users_read', sql: PAGE, pageRows: PAGE_USERS };
  const valuesAfter = (after: SqlValue) => [after];
  for await (const rows of rowPages(database, { ...paging, valuesAfter, start: '', column: 0 })) {
    yield USERS.rowsOf(rows).map(({ state }) => userOf(state));
  }
}

function storedOf({ state, revision }: Revised<User>): StoredUser {
  return { user: userOf(state), revision };
}

/** The index of addresses is one of sign-in names: the row has the name in the place of the address. */
function rowOf(user: User): User {
  const { accountId: _, ...row } = user;
  return { ...row, email: signInName(user) };
}

function userOf(row: User): User {
  return { ...row, ...addressIn(row.email) };
}
