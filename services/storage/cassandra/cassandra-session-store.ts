import type { types } from 'cassandra-driver';
import { SESSION_MS_MAX, type Session } from '#accounts/session';
import { Fault } from '#fault/fault';
import { conditionalAnswerOf } from '#storage/cassandra/conditional-answer';
import type { CassandraSession, Statement, StatementOptions } from '#storage/cassandra/session';
import type { SessionStore } from '#storage/session-store';

/** A conditional write goes through four round trips between servers. Milliseconds. */
const CHANGE_MS_MAX = 5_000;

const TTL_S = SESSION_MS_MAX / 1_000;
const COLUMNS = `user_id, digest, account_id, authenticated_by, credentials_version, created_at_ms,
  last_seen_at_ms, address, client`;
const LIST = `SELECT ${COLUMNS} FROM console_sessions WHERE user_id = ?`;
const FIND = `${LIST} AND digest = ?`;
const CREATE = `INSERT INTO console_sessions (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  IF NOT EXISTS USING TTL ${TTL_S}`;
const TOUCH = `UPDATE console_sessions USING TTL ${TTL_S} SET last_seen_at_ms = ?
  WHERE user_id = ? AND digest = ? IF created_at_ms = ?`;
const END = 'DELETE FROM console_sessions WHERE user_id = ? AND digest = ? IF EXISTS';

/** Sessions in Cassandra: those of a user in one partition, so that one is renewed in one step. */
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
      if (!(await change(creation(begun)))) throw new Fault('conflict', 'there is such a session');
    },
    find: async (userId, digest) => (await read(FIND, [userId, digest]))[0],
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
  return { query: CREATE, params: [...params, ...times, address, client] };
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
