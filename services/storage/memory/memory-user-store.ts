import { addressIn, signInName } from '#accounts/user';
import { Fault } from '#fault/fault';
import type { PagedUsers, StoredUser } from '#storage/user-store';

/** Users of a process that forgets them when it ends (interface 1.8). */
export function memoryUserStore(): PagedUsers {
  const rows = new Map<string, StoredUser>();

  /** What stands where `was` was read, if it is that. */
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
