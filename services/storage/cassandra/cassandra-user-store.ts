import type { types } from 'cassandra-driver';
import { addressIn, signInName, type User } from '#accounts/user';
import { Fault } from '#fault/fault';
import { conditionalAnswerOf } from '#storage/cassandra/conditional-answer';
import type { CassandraSession, StatementOptions } from '#storage/cassandra/session';
import type { PagedUsers, StoredUser } from '#storage/user-store';

/** A conditional write goes through four round trips between servers. Milliseconds. */
const CHANGE_MS_MAX = 5_000;

const COLUMNS = `name, password_hash, credentials_version, factor_state, factor_secret,
  factor_step, recovery_digests, device_digests, created_at_ms`;
const SELECT = `SELECT email, user_id, revision, ${COLUMNS} FROM users`;
const FIND = `${SELECT} WHERE email = ?`;
const FIND_EMAIL = 'SELECT email FROM user_emails WHERE user_id = ?';
const ADD_EMAIL = 'INSERT INTO user_emails (user_id, email) VALUES (?, ?)';
const DROP_EMAIL = 'DELETE FROM user_emails WHERE user_id = ?';
const DROP_ACCOUNTS = 'DELETE FROM user_accounts WHERE user_id = ?';
const CREATE = `INSERT INTO users (email, user_id, revision, ${COLUMNS})
  VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?) IF NOT EXISTS`;
const CHANGE = `UPDATE users SET revision = ?, name = ?, password_hash = ?, credentials_version = ?,
  factor_state = ?, factor_secret = ?, factor_step = ?, recovery_digests = ?, device_digests = ?,
  created_at_ms = ? WHERE email = ? IF revision = ? AND user_id = ?`;
const REMOVE = 'DELETE FROM users WHERE email = ? IF revision = ? AND user_id = ?';

/** Users in Cassandra, one row each, changed only while it is as it was read. */
export function cassandraUserStore(session: CassandraSession): PagedUsers {
  const conditional = async (query: string, params: readonly unknown[]): Promise<boolean> => {
    const options: StatementOptions = {
      kind: 'conditional',
      operation: 'user_change',
      timeoutMs: CHANGE_MS_MAX,
    };
    return conditionalAnswerOf(await session.execute(query, params, options)).isApplied;
  };
  const plain = async (query: string, params: readonly unknown[]): Promise<void> => {
    await session.execute(query, params, { kind: 'write', operation: 'user_index_write' });
  };
  const findByName = async (name: string): Promise<StoredUser | undefined> => {
    const options: StatementOptions = { kind: 'read', operation: 'user_read' };
    const { rows } = await session.execute(FIND, [name], options);
    return rows[0] && { user: userFrom(rows[0]), revision: rows[0]['revision'] };
  };

  return {
    findByEmail: (email, accountId) =>
      findByName(signInName(accountId === undefined ? { email } : { email, accountId })),
    async create(user) {
      // First, so that every user is found by its id.
      const name = signInName(user);
      await plain(ADD_EMAIL, [user.id, name]);
      if (!(await conditional(CREATE, [name, user.id, ...columnsOf(user)]))) {
        await plain(DROP_EMAIL, [user.id]);
        throw new Fault('conflict', 'a user has this email');
      }
      return { user, revision: 0 };
    },
    async find(userId) {
      const options: StatementOptions = { kind: 'read', operation: 'user_index_read' };
      const { rows } = await session.execute(FIND_EMAIL, [userId], options);
      const found = rows[0] && (await findByName(rows[0]['email']));
      return found?.user.id === userId ? found : undefined;
    },
    async replace({ user: was, revision }, user) {
      const { id } = was;
      const params = [revision + 1, ...columnsOf(user), signInName(was), revision, id];
      if (!(await conditional(CHANGE, params))) {
        throw new Fault('conflict', 'the user was changed in between');
      }
      const next = { ...user, id, ...addressIn(signInName(was)) };
      return { user: next, revision: revision + 1 };
    },
    async remove({ user, revision }) {
      const { id } = user;
      if (!(await conditional(REMOVE, [signInName(user), revision, id]))) return false;
      await plain(DROP_EMAIL, [id]);
      await plain(DROP_ACCOUNTS, [id]);
      return true;
    },
    async *pages() {
      const options: StatementOptions = { kind: 'read', operation: 'users_read' };
      for await (const page of session.pages(SELECT, [], options)) yield page.map(userFrom);
    },
  };
}

/** The columns of `COLUMNS`, as statements take them. */
function columnsOf(user: User): unknown[] {
  const { state = null, sealedSecret = null, lastStep } = user.secondFactor ?? {};
  return [
    ...[user.name, user.passwordHash, user.credentialsVersion, state, sealedSecret],
    lastStep === undefined ? null : BigInt(lastStep),
    ...[[...user.recoveryDigests], [...user.deviceDigests], BigInt(user.createdAtMs)],
  ];
}

function userFrom(row: types.Row): User {
  const state = row['factor_state'];
  const secondFactor =
    state === null
      ? {}
      : {
          secondFactor: {
            state,
            sealedSecret: row['factor_secret'],
            lastStep: Number(row['factor_step']),
          },
        };
  return {
    id: row['user_id'],
    ...addressIn(row['email']),
    name: row['name'],
    passwordHash: row['password_hash'],
    credentialsVersion: row['credentials_version'],
    ...secondFactor,
    recoveryDigests: row['recovery_digests'] ?? [],
    deviceDigests: row['device_digests'] ?? [],
    createdAtMs: Number(row['created_at_ms']),
  };
}
