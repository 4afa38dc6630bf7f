import { type Membership, NO_PEOPLE, type People } from '#accounts/people';
import {
  closed,
  copiedFrom,
  entered,
  memberOf,
  withLink,
  withoutLink,
  withoutMember,
  withRole,
} from '#storage/member-changes';
import type { CopiedMembers } from '#storage/member-store';

/** People of a process that forgets them when it ends (interface 1.8). */
export function memoryMemberStore(): CopiedMembers {
  const rows = new Map<string, People>();

  const change = (accountId: string, next: (people: People) => People): People => {
    const people = structuredClone(next(rows.get(accountId) ?? NO_PEOPLE));
    rows.set(accountId, people);
    return structuredClone(people);
  };

  return {
    find: async (accountId) => structuredClone(rows.get(accountId) ?? NO_PEOPLE),
    async accountsOf(userId): Promise<Membership[]> {
      const all = [...rows.values()].flatMap(({ members }) => members);
      const own = all.filter((member) => member.userId === userId);
      return structuredClone(own).toSorted((a, b) => (a.accountId < b.accountId ? -1 : 1));
    },
    addLink: async (link) => void change(link.accountId, (people) => withLink(people, link)),
    dropLink: async (accountId, digest) =>
      void change(accountId, (people) => withoutLink(people, digest)),
    enter: async (entry) =>
      memberOf(
        change(entry.accountId, (people) => entered(people, entry)),
        entry.userId,
      ),
    setRole: async (accountId, userId, role) =>
      memberOf(
        change(accountId, (people) => withRole(people, userId, role)),
        userId,
      ),
    remove: async (accountId, userId, removal) =>
      void change(accountId, (people) => withoutMember(people, userId, removal)),
    async close(accountId) {
      const { members } = rows.get(accountId) ?? NO_PEOPLE;
      change(accountId, closed);
      return members.map(({ userId }) => userId);
    },
    put: async (accountId, people) => void change(accountId, (was) => copiedFrom(was, people)),
  };
}
