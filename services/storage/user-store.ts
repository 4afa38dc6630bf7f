import type { User } from '#accounts/user';

/** A user as it stands, and the revision that a change of it must find again. */
export type StoredUser = { readonly user: User; readonly revision: number };

/**
 * The people who sign in. Every write is durable when its promise fulfils and is seen by every later
 * read. Every method rejects with `service_unavailable` when the store cannot be reached; then a write
 * may have happened. Ids are drawn at random and never come back. Source: decision 245.
 */
export interface UserStore {
  /** Adds a user. Rejects with `conflict` if a user has the same `signInName`: nothing changes. */
  create(user: User): Promise<StoredUser>;

  /** The user with this id; undefined if there is none. */
  find(userId: string): Promise<StoredUser | undefined>;

  /** The user of this address that the account made; without an account, the one that none made. */
  findByEmail(email: string, accountId?: string): Promise<StoredUser | undefined>;

  /**
   * Puts `user` in the place of what was read; id, email and account stay. Rejects with `conflict` if it was
   * changed or removed since: nothing changes.
   */
  replace(was: StoredUser, user: User): Promise<StoredUser>;

  /** Forgets a user, unless it was changed since it was read: answers whether it is gone. */
  remove(was: StoredUser): Promise<boolean>;
}

/** Users as tools go through them. */
export interface PagedUsers extends UserStore {
  /** Every user, page by page, in no particular order. What is stored meanwhile may be missing. */
  pages(): AsyncIterable<readonly User[]>;
}
