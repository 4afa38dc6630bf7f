import type { User } from '#accounts/user';
import { Fault, toFault } from '#fault/fault';
import type { StoredUser, UserStore } from '#storage/user-store';

/** Tries of a change that others get in front of: of one person there are few at once. */
const TRIES_MAX = 4;

/**
 * Changes a user as `next` makes of them, again of what is found when others got in front. What `next`
 * throws ends it, and so decides by what is stored in the end. Rejects with `conflict` for a user that
 * is gone.
 */
export async function changedUser(
  users: UserStore,
  stored: StoredUser,
  next: (user: User) => User,
): Promise<StoredUser> {
  let current = stored;
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const wanted = next(current.user);
    try {
      return await users.replace(current, wanted);
    } catch (error) {
      if (toFault(error).code !== 'conflict') throw error;
    }
    const found = await users.find(current.user.id);
    if (found === undefined) throw new Fault('conflict', 'this user is gone');
    current = found;
  }
  throw new Fault('service_unavailable', 'the user is being changed by others', { retryAfterS: 1 });
}
