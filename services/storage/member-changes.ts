import { isDeepStrictEqual } from 'node:util';
import {
  type EntryLink,
  hasOwner,
  isUsable,
  LINKS_MAX,
  MEMBERS_MAX,
  type Membership,
  type People,
  roleOf,
} from '#accounts/people';
import { mayDo, type Role } from '#accounts/role';
import { Fault, faultFor } from '#fault/fault';
import type { CopiedMembers, Entry, Leaving, Removal } from '#storage/member-store';

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
