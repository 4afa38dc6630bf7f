import { SESSION_MS_MAX, type Session } from '#accounts/session';
import { Fault } from '#fault/fault';
import type { Clock } from '#platform/clock';
import type { SessionStore } from '#storage/session-store';

/** Sessions of a process that forgets them when it ends (interface 1.8). */
export function memorySessionStore(clock: Pick<Clock, 'wallMs'>): SessionStore {
  const rows = new Map<string, Map<string, Session>>();

  const ofUser = (userId: string): Map<string, Session> => {
    const sessions = rows.get(userId) ?? new Map<string, Session>();
    for (const [digest, { createdAtMs }] of sessions) {
      if (clock.wallMs() - createdAtMs >= SESSION_MS_MAX) sessions.delete(digest);
    }
    return sessions;
  };
  const put = (session: Session): void => {
    const sessions = ofUser(session.userId);
    if (sessions.has(session.digest)) throw new Fault('conflict', 'there is such a session');
    sessions.set(session.digest, { ...session });
    rows.set(session.userId, sessions);
  };

  return {
    create: async (session) => put(session),
    find: async (userId, digest) => structuredClone(ofUser(userId).get(digest)),
    listOf: async (userId) => structuredClone([...ofUser(userId).values()]),
    async touch({ userId, digest }, lastSeenAtMs) {
      const sessions = ofUser(userId);
      const session = sessions.get(digest);
      if (session !== undefined) sessions.set(digest, { ...session, lastSeenAtMs });
    },
    async renew(wasDigest, session) {
      const sessions = ofUser(session.userId);
      if (!sessions.has(wasDigest)) throw new Fault('conflict', 'the session has ended');
      put(session);
      sessions.delete(wasDigest);
    },
    async end(userId, digests) {
      const sessions = ofUser(userId);
      for (const digest of digests) sessions.delete(digest);
      if (sessions.size === 0) rows.delete(userId);
    },
  };
}
