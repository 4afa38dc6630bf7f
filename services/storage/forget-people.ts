import type { MemberStore } from '#storage/member-store';
import type { SessionStore } from '#storage/session-store';
import type { UserStore } from '#storage/user-store';

/** Where people are stored. */
export type PeopleStores = {
  readonly users: UserStore;
  readonly members: MemberStore;
  readonly sessions: SessionStore;
};

/**
 * Takes everyone out of an account that is being deleted: sessions in it, users who are in no other
 * account, memberships and links. What names the others goes last, so that it goes on where it was
 * cut when it is run again. Answers how many users are gone. Source: decision 245.
 */
export async function forgetPeople(stores: PeopleStores, accountId: string): Promise<number> {
  const before = await stores.members.find(accountId);
  const known = before.members.map(({ userId }) => userId);
  let gone = 0;
  for (const userId of known) if (await hasForgotten(stores, accountId, userId)) gone += 1;
  const last = await stores.members.close(accountId);
  // Who entered meanwhile; from here on no one does.
  for (const userId of last.filter((id) => !known.includes(id))) {
    if (await hasForgotten(stores, accountId, userId)) gone += 1;
  }
  return gone;
}

/**
 * Ends a user's sessions in an account, and forgets a user who is in no other one. Who enters another
 * account meanwhile has their revision moved on once they are in (`console/entry`): either that is
 * seen here, or that step finds the user gone.
 */
async function hasForgotten(
  { users, members, sessions }: PeopleStores,
  accountId: string,
  userId: string,
): Promise<boolean> {
  const stored = await users.find(userId);
  const others = (await members.accountsOf(userId)).filter((each) => each.accountId !== accountId);
  const own = await sessions.listOf(userId);
  const ended = others.length === 0 ? own : own.filter((each) => each.accountId === accountId);
  await sessions.end(
    userId,
    ended.map(({ digest }) => digest),
  );
  return stored !== undefined && others.length === 0 && (await users.remove(stored));
}
