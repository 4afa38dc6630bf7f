import { isDeepStrictEqual } from 'node:util';
import {
  type EntryLink,
  hasOwner,
  isUsable,
  LINKS_MAX,
  MEMBERS_MAX,
  type Membership,
  mayDo,
  type People,
  type Role,
  roleOf,
  type Session,
  type User,
} from '#accounts/people';
import { Fault, faultFor } from '#errors/fault';

/** User, and its revision for the optimistic lock. */
export type StoredUser = { readonly user: User; readonly revision: number };

/**
 * Users who can sign in. A write is durable when its promise fulfils, and every later read sees the
 * write. Methods reject with `service_unavailable` if the store cannot be reached; a write may then
 * have happened. Ids are random and never reused. Source: decision 245.
 */
export interface UserStore {
  /**
   * Adds a user. Rejects with `conflict` if another user has the same `signInName`; nothing changes
   * then.
   */
  create(user: User): Promise<StoredUser>;

  /** User with this id; undefined if there is none. */
  find(userId: string): Promise<StoredUser | undefined>;

  /**
   * User with this email whom the account created. If `accountId` is undefined, the user whom no
   * account created.
   */
  findByEmail(email: string, accountId?: string): Promise<StoredUser | undefined>;

  /**
   * Replaces a user that was read; id, email and account stay. Rejects with `conflict` if the user
   * was changed or removed since; nothing changes then.
   */
  replace(was: StoredUser, user: User): Promise<StoredUser>;

  /** Removes a user unless the user was changed since. Returns whether the user was removed. */
  remove(was: StoredUser): Promise<boolean>;
}

/** Users for tools, in pages. */
export interface PagedUsers extends UserStore {
  /**
   * All users in pages, in no particular order. Users stored during the iteration may be missing.
   */
  pages(): AsyncIterable<readonly User[]>;
}

/** User who enters an account by a link, and the time. */
type Entry = {
  readonly accountId: string;
  readonly digest: string;
  readonly userId: string;
  readonly atMs: number;
};

/**
 * Email of a member. Open invitations of this address end when the membership or the right to
 * invite ends.
 */
export type Leaving = { readonly email?: string };

/** `lastOwnerToo`: whether to remove a membership even if the account then has no owner. */
type Removal = Leaving & { readonly lastOwnerToo?: boolean };

/**
 * Members of accounts with their roles, and the links by which users enter. All people of an
 * account change as a whole, under an optimistic lock. Even with concurrent writers, a link is
 * therefore used at most once, and an account with an owner keeps an owner. Durability and faults
 * are those of `UserStore`. Source: decision 245.
 */
export interface MemberStore {
  /** People of an account; `NO_PEOPLE` for an unknown account. */
  find(accountId: string): Promise<People>;

  /** Memberships of a user, ordered by account id. */
  accountsOf(userId: string): Promise<Membership[]>;

  /**
   * Adds a link. Rejects with `conflict` if the account is closed or has `LINKS_MAX` links. The
   * link replaces an earlier invitation of the same address, or an earlier set-up link.
   */
  addLink(link: EntryLink): Promise<void>;

  /** Revokes a link. Rejects with `not_found` if there is none. */
  dropLink(accountId: string, digest: string): Promise<void>;

  /**
   * Makes a user a member by a link, which is then used up. Rejects with `not_found`
   * (`link_not_usable`) if the link does not exist or has expired. Rejects with `conflict` if the
   * user is already a member or the account has `MEMBERS_MAX` members; the link then stays.
   */
  enter(entry: Entry): Promise<Membership>;

  /**
   * Changes the role of a member. If the new role may not invite, links are dropped as in
   * `linksLeft`. Rejects with `not_found` if there is no such member, and with `conflict`
   * (`last_owner`) if the account would have no owner.
   */
  setRole(accountId: string, userId: string, role: Role, leaving?: Leaving): Promise<Membership>;

  /**
   * Removes a membership, and drops links as in `linksLeft`. Rejects as `setRole`. With
   * `lastOwnerToo`, the last owner can be removed too. A set-up link can then admit another owner.
   */
  remove(accountId: string, userId: string, options?: Removal): Promise<void>;

  /**
   * Removes all members and links of an account that is being deleted. Permanent: no user can enter
   * afterwards. Returns the user ids of the former members. May be repeated.
   */
  close(accountId: string): Promise<string[]>;
}

/** Members for tools that copy them from another store. */
export interface CopiedMembers extends MemberStore {
  /**
   * Sets all people of an account. Setting the same people again changes nothing. Rejects with
   * `conflict` if the account has other people.
   */
  put(accountId: string, people: People): Promise<void>;
}

/** Maximum number of a user's sessions in one read. A sign-in ends excess sessions. */
export const SESSIONS_MAX = 30;

/**
 * Sessions of the console, by user and digest. A session is deleted at most 12 h after its creation
 * (`SESSION_MS_MAX`), but readers check its times too. Durability and faults are those of
 * `UserStore`. Source: decision 245.
 */
export interface SessionStore {
  /** Adds a session. Rejects with `conflict` if a session with its digest exists. */
  create(session: Session): Promise<void>;

  /** A user's session; undefined if there is none. */
  find(userId: string, digest: string): Promise<Session | undefined>;

  /** All sessions of a user, in no particular order. */
  listOf(userId: string): Promise<Session[]>;

  /** Stores the time at which a session was last seen. An ended session stays ended. */
  touch(session: Session, lastSeenAtMs: number): Promise<void>;

  /**
   * Replaces a session of a user with another session, atomically. Rejects with `conflict` if the
   * replaced session has ended; nothing changes then.
   */
  renew(wasDigest: string, session: Session): Promise<void>;

  /** Ends sessions of a user. Ended sessions are skipped. */
  end(userId: string, digests: readonly string[]): Promise<void>;
}

/*
 * Rules for changes of an account's people. All implementations of `MemberStore` share these rules.
 */

/**
 * Builds the changes of an account's people. `change` applies `next` to all people of an account
 * under an optimistic lock.
 */
export function memberChangesOf(
  change: (
    accountId: string,
    next: (people: People) => People,
  ) => Promise<{ readonly before: People; readonly after: People }>,
): Omit<CopiedMembers, 'find' | 'accountsOf'> {
  return {
    addLink: async (link) => void (await change(link.accountId, (was) => withLink(was, link))),
    dropLink: async (accountId, digest) =>
      void (await change(accountId, (was) => withoutLink(was, digest))),
    async enter(entry) {
      const { after } = await change(entry.accountId, (was) => entered(was, entry));
      return memberOf(after, entry.userId);
    },
    async setRole(accountId, userId, role, leaving = {}) {
      const { after } = await change(accountId, (was) => withRole(was, userId, role, leaving));
      return memberOf(after, userId);
    },
    remove: async (accountId, userId, removal) =>
      void (await change(accountId, (was) => withoutMember(was, userId, removal))),
    async close(accountId) {
      const { before } = await change(accountId, closed);
      return before.members.map(({ userId }) => userId);
    },
    put: async (accountId, people) =>
      void (await change(accountId, (was) => copiedFrom(was, people))),
  };
}

/** Adds a link. Replaced and expired links are dropped. */
function withLink(people: People, link: EntryLink): People {
  if (people.isClosed) throw new Fault('conflict', 'the account is closed');
  const kept = people.links.filter(
    (other) => !isReplaced(other, link) && other.expiresAtMs > link.createdAtMs,
  );
  if (kept.length >= LINKS_MAX) {
    throw new Fault('conflict', `an account has up to ${LINKS_MAX} open invitations`);
  }
  return { ...people, links: [...kept, link] };
}

function isReplaced(other: EntryLink, link: EntryLink): boolean {
  if (other.kind === 'setup' || link.kind === 'setup') return other.kind === link.kind;
  return other.email === link.email;
}

/** Removes a link. Throws `not_found` if there is none. */
function withoutLink(people: People, digest: string): People {
  const links = people.links.filter((link) => link.digest !== digest);
  if (links.length === people.links.length) {
    throw new Fault('not_found', 'there is no such invitation');
  }
  return { ...people, links };
}

/** Adds the member that a link admits. The link is then used up. */
function entered(people: People, { digest, userId, accountId, atMs }: Entry): People {
  const link = people.links.find((known) => known.digest === digest);
  if (people.isClosed || link === undefined || !isUsable(link, people, atMs)) {
    throw faultFor('link_not_usable', 'this link was used, was taken back, or is too old');
  }
  if (people.members.some((member) => member.userId === userId)) {
    throw faultFor('already_exists', 'this user is a member already');
  }
  if (people.members.length >= MEMBERS_MAX) {
    throw new Fault('conflict', `an account has up to ${MEMBERS_MAX} members`);
  }
  const member = { accountId, userId, role: roleOf(link), createdAtMs: atMs };
  const members = [...people.members, member];
  const isOver = (other: EntryLink) => other.kind === 'setup' && hasOwner({ members });
  const links = people.links.filter((other) => other !== link && !isOver(other));
  return { ...people, members, links };
}

/** Changes the role of a member. */
function withRole(people: People, userId: string, role: Role, { email }: Leaving): People {
  const was = memberOf(people, userId);
  const links = mayDo(role, 'members') ? people.links : linksLeft(people.links, was, email);
  const members = people.members.map((each) => (each.userId === userId ? { ...each, role } : each));
  return withOwner({ ...people, members, links });
}

/** Removes a member. */
function withoutMember(people: People, userId: string, removal: Removal = {}): People {
  const links = linksLeft(people.links, memberOf(people, userId), removal.email);
  const members = people.members.filter((each) => each.userId !== userId);
  const left = { ...people, members, links };
  return removal.lastOwnerToo === true ? left : withOwner(left);
}

/**
 * Links that stay when a member may no longer invite. Drops links that the member made and links
 * for the member's own address. If the member could invite, links without a recorded maker are
 * dropped too. Set-up links stay.
 */
function linksLeft(
  links: readonly EntryLink[],
  { userId, role }: Membership,
  email: string | undefined,
): readonly EntryLink[] {
  return links.filter((link) => {
    if (link.kind === 'setup') return true;
    const isTheirs = link.createdBy?.kind === 'user' && link.createdBy.id === userId;
    const isPerhapsTheirs = link.createdBy === undefined && mayDo(role, 'members');
    return !isTheirs && !isPerhapsTheirs && link.email !== email;
  });
}

/** Removes all people and closes the account permanently. */
function closed(people: People): People {
  const isEmpty = people.members.length === 0 && people.links.length === 0;
  return people.isClosed && isEmpty ? people : { isClosed: true, members: [], links: [] };
}

/** Takes over the people of another store, if the account has no people yet. */
function copiedFrom(was: People, people: People): People {
  if (was.members.length === 0 && was.links.length === 0 && !was.isClosed) return people;
  if (isDeepStrictEqual(inOrder(was), inOrder(people))) return was;
  throw new Fault('conflict', 'the account has other people');
}

/** People in a fixed order, because each store has its own order. */
function inOrder({ isClosed, members, links }: People): unknown {
  return {
    isClosed,
    members: members.toSorted((a, b) => (a.userId < b.userId ? -1 : 1)),
    links: links.toSorted((a, b) => (a.digest < b.digest ? -1 : 1)),
  };
}

/** Membership of a user. Throws `not_found` if there is none. */
function memberOf({ members }: People, userId: string): Membership {
  const member = members.find((each) => each.userId === userId);
  if (member === undefined) throw new Fault('not_found', 'there is no such member');
  return member;
}

function withOwner(people: People): People {
  if (hasOwner(people)) return people;
  throw faultFor('last_owner', 'an account must have at least one owner');
}

/** Stores of users, members and sessions. */
export type PeopleStores = {
  readonly users: UserStore;
  readonly members: MemberStore;
  readonly sessions: SessionStore;
};

/**
 * Removes all people of an account that is being deleted: sessions in the account, users without
 * another account, memberships and links. The members refer to the other data and are deleted last,
 * so that an interrupted run can be repeated. Returns the number of removed users. Source: decision
 * 245.
 */
export async function forgetPeople(stores: PeopleStores, accountId: string): Promise<number> {
  const before = await stores.members.find(accountId);
  const known = before.members.map(({ userId }) => userId);
  let gone = 0;
  for (const userId of known) if (await hasForgotten(stores, accountId, userId)) gone += 1;
  const last = await stores.members.close(accountId);
  // Users who entered in the meantime. After `close`, nobody can enter.
  for (const userId of last.filter((id) => !known.includes(id))) {
    if (await hasForgotten(stores, accountId, userId)) gone += 1;
  }
  return gone;
}

/**
 * Ends a user's sessions in an account, and removes a user without another account. If the user
 * enters another account meanwhile, that step increments the user's revision afterwards
 * (`console/people/entry.ts`). Either this removal sees the new revision and fails, or that step
 * finds no user.
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
