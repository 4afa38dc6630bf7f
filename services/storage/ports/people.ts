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
import { Fault, faultFor } from '#fault/fault';

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

/** Who enters by which link, and when. */
type Entry = {
  readonly accountId: string;
  readonly digest: string;
  readonly userId: string;
  readonly atMs: number;
};

/** The address of a member, whose open invitations go with the membership or with the right to invite. */
export type Leaving = { readonly email?: string };

/** `lastOwnerToo`: whether a membership goes although no owner is left then. */
type Removal = Leaving & { readonly lastOwnerToo?: boolean };

/**
 * Who may do what in which account, and the links by which others enter. All of one account changes as
 * a whole, so a link is used once, and an account that has an owner keeps one, however many write at
 * the same time. Durability and faults are those of `UserStore`. Source: decision 245.
 */
export interface MemberStore {
  /** The people of an account; of one that is not known `NO_PEOPLE`. */
  find(accountId: string): Promise<People>;

  /** The memberships of a user, by account id. */
  accountsOf(userId: string): Promise<Membership[]>;

  /**
   * Adds a link. Rejects with `conflict` if the account is closed or has `LINKS_MAX` links. An earlier
   * invitation of the same address, or an earlier set-up link, is no longer one.
   */
  addLink(link: EntryLink): Promise<void>;

  /** Takes a link back. Rejects with `not_found` if there is none. */
  dropLink(accountId: string, digest: string): Promise<void>;

  /**
   * Makes a user a member by a link, which is used by that. Rejects with `not_found`
   * (`link_not_usable`) if there is no such link or its time is over, and with `conflict` if the user
   * is a member or the account has `MEMBERS_MAX`; then the link stays.
   */
  enter(entry: Entry): Promise<Membership>;

  /**
   * Gives a member another role. Where the member may invite no more, `linksLeft` holds. Rejects with `not_found` if there is none, and with `conflict`
   * (`last_owner`) if no owner were left.
   */
  setRole(accountId: string, userId: string, role: Role, leaving?: Leaving): Promise<Membership>;

  /**
   * Takes a membership away, and links as in `linksLeft`. Rejects as `setRole`; with `lastOwnerToo` not for the last owner: then a
   * set-up link lets another one in.
   */
  remove(accountId: string, userId: string, options?: Removal): Promise<void>;

  /**
   * Takes everyone and every link out of an account that is being deleted, for good: no one enters any
   * more. Answers who was a member. May be repeated.
   */
  close(accountId: string): Promise<string[]>;
}

/** Members as tools bring them from another store. */
export interface CopiedMembers extends MemberStore {
  /**
   * Gives an account its people, as a whole; the same again changes nothing. Rejects with `conflict`
   * if it has others.
   */
  put(accountId: string, people: People): Promise<void>;
}

/** Sessions of one user that are read at once; more are ended by a sign-in. Chosen. */
export const SESSIONS_MAX = 30;

/**
 * Sessions of the console, by user and digest. A session is gone for good 12 h after it was made
 * (`SESSION_MS_MAX`) at the latest; a reader looks at its times all the same. Durability and
 * faults are those of `UserStore`. Source: decision 245.
 */
export interface SessionStore {
  /** Adds a session. Rejects with `conflict` if there is one with its digest. */
  create(session: Session): Promise<void>;

  /** A user's session; undefined if there is none. */
  find(userId: string, digest: string): Promise<Session | undefined>;

  /** All sessions of a user, in no order. */
  listOf(userId: string): Promise<Session[]>;

  /** Notes when a session was last seen. One that has ended stays ended. */
  touch(session: Session, lastSeenAtMs: number): Promise<void>;

  /**
   * Puts a session in the place of another one of the same user, as one step. Rejects with `conflict`
   * if that one has ended: nothing changes.
   */
  renew(wasDigest: string, session: Session): Promise<void>;

  /** Ends sessions of a user; those that have ended are passed over. */
  end(userId: string, digests: readonly string[]): Promise<void>;
}

/* What may be done to the people of an account; every `MemberStore` does and refuses the same. */

/** The changes of an account's people, by a way to change them as a whole while they are as they were read. */
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

/** With one more link. Links that replace or outlive nothing any more go. */
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

/** Without a link. */
function withoutLink(people: People, digest: string): People {
  const links = people.links.filter((link) => link.digest !== digest);
  if (links.length === people.links.length) {
    throw new Fault('not_found', 'there is no such invitation');
  }
  return { ...people, links };
}

/** With the member that a link makes, which is used by that. */
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

/** With another role of a member. */
function withRole(people: People, userId: string, role: Role, { email }: Leaving): People {
  const was = memberOf(people, userId);
  const links = mayDo(role, 'members') ? people.links : linksLeft(people.links, was, email);
  const members = people.members.map((each) => (each.userId === userId ? { ...each, role } : each));
  return withOwner({ ...people, members, links });
}

/** Without a member. */
function withoutMember(people: People, userId: string, removal: Removal = {}): People {
  const links = linksLeft(people.links, memberOf(people, userId), removal.email);
  const members = people.members.filter((each) => each.userId !== userId);
  const left = { ...people, members, links };
  return removal.lastOwnerToo === true ? left : withOwner(left);
}

/**
 * The links that stay when a member may invite no more: none that the member made, none of the member's
 * own address, and, of one who could invite, none without a recorded maker.
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

/** Without anyone, for good. */
function closed(people: People): People {
  const isEmpty = people.members.length === 0 && people.links.length === 0;
  return people.isClosed && isEmpty ? people : { isClosed: true, members: [], links: [] };
}

/** With the people of another store, where there are none. */
function copiedFrom(was: People, people: People): People {
  if (was.members.length === 0 && was.links.length === 0 && !was.isClosed) return people;
  if (isDeepStrictEqual(inOrder(was), inOrder(people))) return was;
  throw new Fault('conflict', 'the account has other people');
}

/** By what names each: stores keep them in orders of their own. */
function inOrder({ isClosed, members, links }: People): unknown {
  return {
    isClosed,
    members: members.toSorted((a, b) => (a.userId < b.userId ? -1 : 1)),
    links: links.toSorted((a, b) => (a.digest < b.digest ? -1 : 1)),
  };
}

/** The membership of a user. Throws `not_found` if there is none. */
function memberOf({ members }: People, userId: string): Membership {
  const member = members.find((each) => each.userId === userId);
  if (member === undefined) throw new Fault('not_found', 'there is no such member');
  return member;
}

function withOwner(people: People): People {
  if (hasOwner(people)) return people;
  throw faultFor('last_owner', 'an account keeps one owner at least');
}

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
 * account meanwhile has their revision moved on once they are in (`console/people/entry`): either that is
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
