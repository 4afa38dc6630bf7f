import { type Membership, NO_PEOPLE, type People } from '#accounts/people';
import { memberChangesOf } from '#storage/member-changes';
import type { CopiedMembers } from '#storage/member-store';

/** People of a process that forgets them when it ends (interface 1.8). */
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
