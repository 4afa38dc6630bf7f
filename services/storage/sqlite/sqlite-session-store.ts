import { SESSION_MS_MAX, type Session } from '#accounts/session';
import { Fault } from '#fault/fault';
import type { Clock } from '#platform/clock';
import type { SessionStore } from '#storage/session-store';
import { CheckedTable, textIn } from '#storage/sqlite/checked-table';
import type { Row, SqliteDatabase, SqlValue, Statement } from '#storage/sqlite/database';

const SESSIONS = new CheckedTable({
  name: 'console_sessions',
  keys: ['user_id', 'digest'],
  others: ['created_at_ms', 'state'],
});

const OF_USER = 'user_id = ? AND created_at_ms > ?';
const LIST = SESSIONS.select(`WHERE ${OF_USER}`);
const ONE = SESSIONS.select(`WHERE ${OF_USER} AND digest = ?`);

/**
 * Sessions in a file. One whose time is over is passed over until `deleteExpired` takes it away.
 * `database` stays the caller's.
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
      const isNew = await change(SESSIONS.insert(rowOf(begun)));
      if (!isNew) throw new Fault('conflict', 'there is such a session');
    },
    find: async (userId, digest) => (await read(ONE, [userId, overSinceMs(), digest]))[0],
    listOf: (userId) => read(LIST, [userId, overSinceMs()]),
    async touch(session, lastSeenAtMs) {
      const { createdAtMs } = session;
      // False: it has ended.
      await change(
        SESSIONS.replace(rowOf({ ...session, lastSeenAtMs }), { created_at_ms: createdAtMs }),
      );
    },
    async renew(wasDigest, renewed) {
      const values = [renewed.userId, overSinceMs(), wasDigest];
      const end = { ...SESSIONS.delete(`${OF_USER} AND digest = ?`, values), changes: 1 };
      const isRenewed = await change(end, SESSIONS.insert(rowOf(renewed)));
      if (!isRenewed) throw new Fault('conflict', 'the session has ended');
    },
    async end(userId, digests) {
      const condition = 'user_id = ? AND digest IN (SELECT value FROM json_each(?))';
      await change(SESSIONS.delete(condition, [userId, JSON.stringify(digests)]));
    },
  };
}

function rowOf(session: Session): Row {
  const { userId, digest, createdAtMs } = session;
  return [userId, digest, createdAtMs, JSON.stringify(session)];
}

/** JSON that this program wrote: the checksum of its row has shown that no byte of it has changed. */
function sessionIn(row: Row): Session {
  return JSON.parse(textIn(row, 3));
}
