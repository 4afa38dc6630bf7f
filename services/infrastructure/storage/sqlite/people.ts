import {
  addressIn,
  NO_PEOPLE,
  type People,
  SESSION_MS_MAX,
  type Session,
  signInName,
  type User,
} from '#accounts/people';
import { Fault } from '#errors/fault';
import type { Clock } from '#stdlib/clock';
import {
  type CopiedMembers,
  memberChangesOf,
  type PagedUsers,
  type SessionStore,
  type StoredUser,
} from '#storage/ports/people';
import type { Row, SqliteDatabase, SqlValue, Statement } from '#storage/sqlite/database';
import {
  changeRevised,
  FIRST_REVISION,
  type Revised,
  RevisedTable,
} from '#storage/sqlite/revised-table';
import { CheckedTable, rowPages, textIn } from '#storage/sqlite/tables';

const PEOPLE = new RevisedTable<People>('account_people', 'account_id');
const ACCOUNTS_OF = new CheckedTable({
  name: 'user_accounts',
  keys: ['user_id', 'account_id'],
  others: [],
});

const MEMBERS_OF_USER = ACCOUNTS_OF.select('WHERE user_id = ?');
const OF_ACCOUNTS = PEOPLE.select(
  'WHERE account_id IN (SELECT value FROM json_each(?)) ORDER BY account_id',
);

/** People of accounts in an SQLite file, one row per account. The caller closes `database`. */
export function sqliteMemberStore(database: SqliteDatabase): CopiedMembers {
  const change = (accountId: string, next: (people: People) => People) =>
    changeRevised(
      { database, table: PEOPLE, key: accountId, operation: 'people' },
      (before = NO_PEOPLE) => {
        const after = next(before);
        const answer = { before, after };
        if (after === before) return { answer };
        return { put: after, also: accountChanges(accountId, before, after), answer };
      },
    );

  return {
    async find(accountId) {
      const found = await PEOPLE.find(database, 'people_read', accountId);
      return found?.state ?? structuredClone(NO_PEOPLE);
    },
    async accountsOf(userId) {
      const query = { operation: 'user_account_read', sql: MEMBERS_OF_USER, values: [userId] };
      const ids = (await ACCOUNTS_OF.read(database, query)).map((row) => textIn(row, 1));
      const values = [JSON.stringify(ids)];
      const rows = await database.read({ operation: 'people_read', sql: OF_ACCOUNTS, values });
      const members = PEOPLE.rowsOf(rows).flatMap(({ state }) => state.members);
      return members.filter((member) => member.userId === userId);
    },
    ...memberChangesOf(change),
  };
}

/**
 * Statements that list the account under its new members, and remove the account from its former
 * members.
 */
function accountChanges(accountId: string, before: People, after: People): Statement[] {
  const usersOf = ({ members }: People) => new Set(members.map(({ userId }) => userId));
  const were = usersOf(before);
  const are = usersOf(after);
  const one = 'user_id = ? AND account_id = ?';
  return [
    ...[...are.difference(were)].map((userId) => ACCOUNTS_OF.put([userId, accountId])),
    ...[...were.difference(are)].map((userId) => ACCOUNTS_OF.delete(one, [userId, accountId])),
  ];
}

const SESSIONS = new CheckedTable({
  name: 'console_sessions',
  keys: ['user_id', 'digest'],
  others: ['created_at_ms', 'state'],
});

const SESSIONS_OF_USER = 'user_id = ? AND created_at_ms > ?';
const LIST = SESSIONS.select(`WHERE ${SESSIONS_OF_USER}`);
const ONE = SESSIONS.select(`WHERE ${SESSIONS_OF_USER} AND digest = ?`);

/**
 * Console sessions in an SQLite file. Reads skip an expired session until `deleteExpired` deletes
 * it. The caller closes `database`.
 */
export function sqliteSessionStore(
  database: SqliteDatabase,
  clock: Pick<Clock, 'wallMs'>,
): SessionStore {
  const overSinceMs = () => clock.wallMs() - SESSION_MS_MAX;
  const change = (...statements: Statement[]) =>
    database.write({ operation: 'session_change', statements });
  const read = async (sql: string, values: readonly SqlValue[]): Promise<Session[]> => {
    const rows = await SESSIONS.read(database, { operation: 'session_read', sql, values });
    return rows.map(sessionIn);
  };

  return {
    async create(begun) {
      const isNew = await change(SESSIONS.insert(sessionRowOf(begun)));
      if (!isNew) throw new Fault('conflict', 'the session exists');
    },
    find: async (userId, digest) => (await read(ONE, [userId, overSinceMs(), digest]))[0],
    listOf: (userId) => read(LIST, [userId, overSinceMs()]),
    async touch(session, lastSeenAtMs) {
      const { createdAtMs } = session;
      // The result is ignored. It is false if the session has ended.
      await change(
        SESSIONS.replace(sessionRowOf({ ...session, lastSeenAtMs }), {
          created_at_ms: createdAtMs,
        }),
      );
    },
    async renew(wasDigest, renewed) {
      const values = [renewed.userId, overSinceMs(), wasDigest];
      const end = { ...SESSIONS.delete(`${SESSIONS_OF_USER} AND digest = ?`, values), changes: 1 };
      const isRenewed = await change(end, SESSIONS.insert(sessionRowOf(renewed)));
      if (!isRenewed) throw new Fault('conflict', 'the session has ended');
    },
    async end(userId, digests) {
      const condition = 'user_id = ? AND digest IN (SELECT value FROM json_each(?))';
      await change(SESSIONS.delete(condition, [userId, JSON.stringify(digests)]));
    },
  };
}

function sessionRowOf(session: Session): Row {
  const { userId, digest, createdAtMs } = session;
  return [userId, digest, createdAtMs, JSON.stringify(session)];
}

/**
 * Decodes the session in a row. The checksum of the row has verified the JSON, which this program
 * wrote.
 */
function sessionIn(row: Row): Session {
  return JSON.parse(textIn(row, 3));
}

const USERS = new RevisedTable<User>('users', 'user_id');

const BY_EMAIL = USERS.select(`WHERE state ->> 'email' = ?`);

/** Maximum number of users in a page (1 MiB). */
const PAGE_USERS = 1_000;

const PAGE = USERS.select(`WHERE user_id > ? ORDER BY user_id LIMIT ${PAGE_USERS}`);

/**
 * Users in an SQLite file. A unique index refuses a second user with the same sign-in name. The
 * caller closes `database`.
 */
export function sqliteUserStore(database: SqliteDatabase): PagedUsers {
  const change = (statement: Statement) =>
    database.write({ operation: 'user_change', statements: [statement] });

  return {
    async create(user) {
      const isCreated = await change(USERS.put(user.id, undefined, userRowOf(user)));
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
      if (await change(USERS.put(was.id, revision, userRowOf(next))))
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

/** Row of a user. `email` holds the sign-in name, which the unique index covers. */
function userRowOf(user: User): User {
  const { accountId: _, ...row } = user;
  return { ...row, email: signInName(user) };
}

function userOf(row: User): User {
  return { ...row, ...addressIn(row.email) };
}
