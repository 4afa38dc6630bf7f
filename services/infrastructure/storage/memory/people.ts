import {
  addressIn,
  type Membership,
  NO_PEOPLE,
  type People,
  SESSION_MS_MAX,
  type Session,
  signInName,
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

/** People of accounts in memory, lost when the process ends (interface 1.8). */
export function memoryMemberStore(): CopiedMembers {
  const rows = new Map<string, People>();

  const change = async (accountId: string, next: (people: People) => People) => {
    const before = rows.get(accountId) ?? NO_PEOPLE;
    const after = structuredClone(next(before));
    rows.set(accountId, after);
    return structuredClone({ before, after });
  };

  return {
    find: async (accountId) => structuredClone(rows.get(accountId) ?? NO_PEOPLE),
    async accountsOf(userId): Promise<Membership[]> {
      const all = [...rows.values()].flatMap(({ members }) => members);
      const own = all.filter((member) => member.userId === userId);
      return structuredClone(own).toSorted((a, b) => (a.accountId < b.accountId ? -1 : 1));
    },
    ...memberChangesOf(change),
  };
}

/** Sessions in memory, lost when the process ends (interface 1.8). */
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
    if (sessions.has(session.digest)) throw new Fault('conflict', 'the session exists');
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

/** Users in memory, lost when the process ends (interface 1.8). */
export function memoryUserStore(): PagedUsers {
  const rows = new Map<string, StoredUser>();

  /** Whether a stored user is unchanged since it was read. */
  const unchanged = ({ user, revision }: StoredUser): boolean =>
    rows.get(signInName(user))?.revision === revision &&
    rows.get(signInName(user))?.user.id === user.id;

  return {
    async create(user) {
      if (rows.has(signInName(user))) throw new Fault('conflict', 'a user has this email');
      const stored = { user: structuredClone(user), revision: 0 };
      rows.set(signInName(user), stored);
      return structuredClone(stored);
    },
    async find(userId) {
      const found = [...rows.values()].find(({ user }) => user.id === userId);
      return structuredClone(found);
    },
    findByEmail: async (email, accountId) =>
      structuredClone(
        rows.get(signInName(accountId === undefined ? { email } : { email, accountId })),
      ),
    async replace(was, user) {
      if (!unchanged(was)) throw new Fault('conflict', 'the user was changed in between');
      const { id } = was.user;
      const address = addressIn(signInName(was.user));
      const next = {
        user: structuredClone({ ...user, id, ...address }),
        revision: was.revision + 1,
      };
      rows.set(signInName(next.user), next);
      return structuredClone(next);
    },
    async remove(was) {
      return unchanged(was) && rows.delete(signInName(was.user));
    },
    async *pages() {
      if (rows.size > 0) yield structuredClone([...rows.values()].map(({ user }) => user));
    },
  };
}
