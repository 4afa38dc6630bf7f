import type { types } from 'cassandra-driver';
import { creatorFrom, creatorText } from '#accounts/account';
import {
  addressIn,
  type EntryLink,
  INVITATION_MS,
  type Membership,
  type People,
  SESSION_MS_MAX,
  SETUP_LINK_MS,
  type Session,
  signInName,
  type User,
} from '#accounts/people';
import { Fault } from '#errors/fault';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import type { CassandraSession, Statement, StatementOptions } from '#storage/cassandra/session';
import { conditionalAnswerOf } from '#storage/cassandra/statements';
import {
  type CopiedMembers,
  memberChangesOf,
  type PagedUsers,
  type SessionStore,
  type StoredUser,
} from '#storage/ports/people';

/** Maximum number of attempts per change. The people of an account rarely change. */
const TRIES_MAX = 8;

/** Maximum number of a user's accounts that are read in parallel. */
const READS_IN_FLIGHT_MAX = 8;

/**
 * Timeout of a conditional write, in milliseconds. A conditional write needs four round trips
 * between servers.
 */
const CHANGE_MS_MAX = 5_000;

const FIND_MEMBERS = `SELECT account_id, kind, id, revision, is_closed, email, role, created_at_ms,
  expires_at_ms, created_by FROM account_people WHERE account_id = ?`;
const CHANGE_MEMBERS = `UPDATE account_people SET revision = ?, is_closed = ? WHERE account_id = ?
  IF revision = ?`;
const ADD_ACCOUNT = 'INSERT INTO user_accounts (user_id, account_id) VALUES (?, ?)';
const FIND_ACCOUNTS = 'SELECT account_id FROM user_accounts WHERE user_id = ?';

/** People of accounts in Cassandra: one partition per account, changed under an optimistic lock. */
export function cassandraMemberStore(session: CassandraSession): CopiedMembers {
  const changes = memberChangesOf((accountId, next) => changed(session, accountId, next));

  return {
    find: async (accountId) => (await read(session, accountId)).people,
    accountsOf: (userId) => accountsOf(session, userId),
    ...changes,
    async enter(entry) {
      await addAccount(session, entry.userId, entry.accountId);
      return await changes.enter(entry);
    },
    async put(accountId, people) {
      for (const { userId } of people.members) await addAccount(session, userId, accountId);
      await changes.put(accountId, people);
    },
  };
}

/**
 * Indexes an account under a user. The index is written before the membership, so that every
 * membership can be found from its user. Readers skip an account without the membership.
 */
async function addAccount(
  session: CassandraSession,
  userId: string,
  accountId: string,
): Promise<void> {
  const options: StatementOptions = { kind: 'write', operation: 'user_account_write' };
  await session.execute(ADD_ACCOUNT, [userId, accountId], options);
}

type Stored = { readonly people: People; readonly revision: number | null };

async function read(session: CassandraSession, accountId: string): Promise<Stored> {
  const options: StatementOptions = { kind: 'read', operation: 'people_read' };
  const rows: types.Row[] = [];
  for await (const page of session.pages(FIND_MEMBERS, [accountId], options)) rows.push(...page);
  return { people: peopleFrom(rows), revision: rows[0]?.['revision'] ?? null };
}

/** Reads, decides and writes under an optimistic lock, and repeats after a conflict. */
async function changed(
  session: CassandraSession,
  accountId: string,
  next: (people: People) => People,
): Promise<{ before: People; after: People }> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const { people: before, revision } = await read(session, accountId);
    const after = next(before);
    if (after === before) return { before, after };
    const params = [(revision ?? 0) + 1, after.isClosed, accountId, revision];
    const statements = [{ query: CHANGE_MEMBERS, params }, ...rowChanges(accountId, before, after)];
    if (await isApplied(session, statements)) return { before, after };
  }
  throw new Fault('service_unavailable', 'the account is being changed by others: try again', {
    retryAfterS: 1,
  });
}

async function isApplied(session: CassandraSession, statements: readonly Statement[]) {
  const options: StatementOptions = {
    kind: 'conditional',
    operation: 'people_change',
    timeoutMs: CHANGE_MS_MAX,
  };
  return conditionalAnswerOf(await session.batch(statements, options)).isApplied;
}

async function accountsOf(session: CassandraSession, userId: string): Promise<Membership[]> {
  const options: StatementOptions = { kind: 'read', operation: 'user_account_read' };
  const { rows } = await session.execute(FIND_ACCOUNTS, [userId], options);
  const found: (Membership | undefined)[] = [];
  const ids = rows.map((row): string => row['account_id']);
  await forEachConcurrently([...ids.entries()], READS_IN_FLIGHT_MAX, async ([at, accountId]) => {
    const { people } = await read(session, accountId);
    found[at] = people.members.find((member) => member.userId === userId);
  });
  return found.filter((member) => member !== undefined);
}

const PUT = `INSERT INTO account_people (account_id, kind, id, email, role, created_at_ms,
  expires_at_ms, created_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?) USING TTL ?`;
const DROP = 'DELETE FROM account_people WHERE account_id = ? AND kind = ? AND id = ?';

/** Row of a person: key and values. */
type PersonRow = {
  readonly kind: string;
  readonly id: string;
  readonly values: readonly unknown[];
};

/** People in the rows of a partition. */
function peopleFrom(rows: readonly types.Row[]): People {
  const members: Membership[] = [];
  const links: EntryLink[] = [];
  for (const row of rows) {
    const accountId: string = row['account_id'];
    const createdAtMs = Number(row['created_at_ms']);
    const expiresAtMs = Number(row['expires_at_ms']);
    const createdBy = creatorFrom(row['created_by'] ?? undefined);
    const by = createdBy === undefined ? {} : { createdBy };
    const link = { accountId, digest: row['id'], createdAtMs, expiresAtMs, ...by };
    switch (row['kind']) {
      case 'member':
        members.push({ accountId, userId: row['id'], role: row['role'], createdAtMs });
        break;
      case 'invitation':
        links.push({ ...link, kind: 'invitation', email: row['email'], role: row['role'] });
        break;
      case 'setup':
        links.push({ ...link, kind: 'setup' });
    }
  }
  return { isClosed: rows[0]?.['is_closed'] === true, members, links };
}

/**
 * Statements that turn the rows of `was` into the rows of `next`: new, changed and deleted rows.
 */
function rowChanges(accountId: string, was: People, next: People): Statement[] {
  const before = new Map(rowsOf(was).map((row) => [`${row.kind} ${row.id}`, row]));
  const after = new Map(rowsOf(next).map((row) => [`${row.kind} ${row.id}`, row]));
  const puts = [...after]
    .filter(([key, { values }]) => String(before.get(key)?.values) !== String(values))
    .map(([, { kind, id, values }]) => ({ query: PUT, params: [accountId, kind, id, ...values] }));
  const drops = [...before]
    .filter(([key]) => !after.has(key))
    .map(([, { kind, id }]) => ({ query: DROP, params: [accountId, kind, id] }));
  return [...puts, ...drops];
}

/** Rows of people. The row of a link has a TTL, which is the maximum lifetime of a link. */
function rowsOf({ members, links }: People): PersonRow[] {
  return [
    ...members.map(({ userId, role, createdAtMs }) => {
      return {
        kind: 'member',
        id: userId,
        values: [null, role, BigInt(createdAtMs), null, null, 0],
      };
    }),
    ...links.map((link) => {
      const { kind, digest: id } = link;
      const [email, role, lifeMs] =
        link.kind === 'invitation'
          ? [link.email, link.role, INVITATION_MS]
          : [null, null, SETUP_LINK_MS];
      const times = [BigInt(link.createdAtMs), BigInt(link.expiresAtMs)];
      const by = link.createdBy === undefined ? null : creatorText(link.createdBy);
      return { kind, id, values: [email, role, ...times, by, lifeMs / 1_000] };
    }),
  ];
}

const TTL_S = SESSION_MS_MAX / 1_000;
const SESSION_COLUMNS = `user_id, digest, account_id, authenticated_by, credentials_version, created_at_ms,
  last_seen_at_ms, address, client`;
const LIST = `SELECT ${SESSION_COLUMNS} FROM console_sessions WHERE user_id = ?`;
const FIND_SESSION = `${LIST} AND digest = ?`;
const CREATE_SESSION = `INSERT INTO console_sessions (${SESSION_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  IF NOT EXISTS USING TTL ${TTL_S}`;
const TOUCH = `UPDATE console_sessions USING TTL ${TTL_S} SET last_seen_at_ms = ?
  WHERE user_id = ? AND digest = ? IF created_at_ms = ?`;
const END = 'DELETE FROM console_sessions WHERE user_id = ? AND digest = ? IF EXISTS';

/**
 * Sessions in Cassandra: one partition per user, so that a renewal is a single conditional batch.
 */
export function cassandraSessionStore(session: CassandraSession): SessionStore {
  const change = async (...statements: readonly Statement[]): Promise<boolean> => {
    const options: StatementOptions = {
      kind: 'conditional',
      operation: 'session_change',
      timeoutMs: CHANGE_MS_MAX,
    };
    return conditionalAnswerOf(await session.batch(statements, options)).isApplied;
  };
  const read = async (query: string, params: readonly unknown[]): Promise<Session[]> => {
    const options: StatementOptions = { kind: 'read', operation: 'session_read' };
    const { rows } = await session.execute(query, params, options);
    return rows.filter((row) => row['created_at_ms'] !== null).map(sessionFrom);
  };

  return {
    async create(begun) {
      if (!(await change(creation(begun)))) throw new Fault('conflict', 'the session exists');
    },
    find: async (userId, digest) => (await read(FIND_SESSION, [userId, digest]))[0],
    listOf: (userId) => read(LIST, [userId]),
    async touch({ userId, digest, createdAtMs }, lastSeenAtMs) {
      const params = [BigInt(lastSeenAtMs), userId, digest, BigInt(createdAtMs)];
      await change({ query: TOUCH, params });
    },
    async renew(wasDigest, renewed) {
      const end = { query: END, params: [renewed.userId, wasDigest] };
      if (!(await change(end, creation(renewed)))) {
        throw new Fault('conflict', 'the session has ended');
      }
    },
    async end(userId, digests) {
      for (const digest of digests) await change({ query: END, params: [userId, digest] });
    },
  };
}

function creation(begun: Session): Statement {
  const { userId, digest, accountId, authenticatedBy, credentialsVersion, address, client } = begun;
  const times = [BigInt(begun.createdAtMs), BigInt(begun.lastSeenAtMs)];
  const params = [userId, digest, accountId, authenticatedBy, credentialsVersion];
  return { query: CREATE_SESSION, params: [...params, ...times, address, client] };
}

function sessionFrom(row: types.Row): Session {
  return {
    userId: row['user_id'],
    digest: row['digest'],
    accountId: row['account_id'],
    authenticatedBy: row['authenticated_by'],
    credentialsVersion: row['credentials_version'],
    createdAtMs: Number(row['created_at_ms']),
    lastSeenAtMs: Number(row['last_seen_at_ms']),
    address: row['address'],
    client: row['client'],
  };
}

const USER_COLUMNS = `name, password_hash, credentials_version, factor_state, factor_secret,
  factor_step, recovery_digests, device_digests, created_at_ms`;
const SELECT = `SELECT email, user_id, revision, ${USER_COLUMNS} FROM users`;
const FIND_USER = `${SELECT} WHERE email = ?`;
const FIND_EMAIL = 'SELECT email FROM user_emails WHERE user_id = ?';
const ADD_EMAIL = 'INSERT INTO user_emails (user_id, email) VALUES (?, ?)';
const DROP_EMAIL = 'DELETE FROM user_emails WHERE user_id = ?';
const DROP_ACCOUNTS = 'DELETE FROM user_accounts WHERE user_id = ?';
const CREATE_USER = `INSERT INTO users (email, user_id, revision, ${USER_COLUMNS})
  VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?) IF NOT EXISTS`;
const CHANGE_USER = `UPDATE users SET revision = ?, name = ?, password_hash = ?, credentials_version = ?,
  factor_state = ?, factor_secret = ?, factor_step = ?, recovery_digests = ?, device_digests = ?,
  created_at_ms = ? WHERE email = ? IF revision = ? AND user_id = ?`;
const REMOVE = 'DELETE FROM users WHERE email = ? IF revision = ? AND user_id = ?';

/** Users in Cassandra: one row per user, changed under an optimistic lock. */
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
    const { rows } = await session.execute(FIND_USER, [name], options);
    return rows[0] && { user: userFrom(rows[0]), revision: rows[0]['revision'] };
  };

  return {
    findByEmail: (email, accountId) =>
      findByName(signInName(accountId === undefined ? { email } : { email, accountId })),
    async create(user) {
      // The index is written first, so that every user is found by id.
      const name = signInName(user);
      await plain(ADD_EMAIL, [user.id, name]);
      if (!(await conditional(CREATE_USER, [name, user.id, ...columnsOf(user)]))) {
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
      if (!(await conditional(CHANGE_USER, params))) {
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

/** Values of a user for statements, in the order of `USER_COLUMNS`. */
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
