import { Fault } from '#fault/fault';
import type { PagedUsers, StoredUser } from '#storage/user-store';

/** Users of a process that forgets them when it ends (interface 1.8). */
export function memoryUserStore(): PagedUsers {
  const rows = new Map<string, StoredUser>();

  /** What stands where `was` was read, if it is that. */
  const unchanged = ({ user, revision }: StoredUser): boolean =>
    rows.get(user.email)?.revision === revision && rows.get(user.email)?.user.id === user.id;

  return {
    async create(user) {
      if (rows.has(user.email)) throw new Fault('conflict', 'a user has this email');
      const stored = { user: structuredClone(user), revision: 0 };
      rows.set(user.email, stored);
      return structuredClone(stored);
    },
    async find(userId) {
      const found = [...rows.values()].find(({ user }) => user.id === userId);
      return structuredClone(found);
    },
    findByEmail: async (email) => structuredClone(rows.get(email)),
    async replace(was, user) {
      if (!unchanged(was)) throw new Fault('conflict', 'the user was changed in between');
      const { id, email } = was.user;
      const next = { user: structuredClone({ ...user, id, email }), revision: was.revision + 1 };
      rows.set(email, next);
      return structuredClone(next);
    },
    async remove(was) {
      return unchanged(was) && rows.delete(was.user.email);
    },
    async *pages() {
      if (rows.size > 0) yield structuredClone([...rows.values()].map(({ user }) => user));
    },
  };
}
