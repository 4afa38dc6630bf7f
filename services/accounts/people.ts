import type { Creator } from '#accounts/creator';
import type { Role } from '#accounts/role';

/** What a user is in an account. Source: decision 245. */
export type Membership = {
  readonly accountId: string;
  readonly userId: string;
  readonly role: Role;
  readonly createdAtMs: number;
};

/**
 * A way into an account, good for one use: an invitation is for one address and role, a set-up link
 * makes the first owner. Source: decision 245.
 */
export type EntryLink = {
  readonly accountId: string;
  /** SHA-256 of the link's value, base64url. */
  readonly digest: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  /** Who made the link; absent: made by a release that did not record it. */
  readonly createdBy?: Creator;
} & (
  | { readonly kind: 'invitation'; readonly email: string; readonly role: Role }
  | { readonly kind: 'setup' }
);

/** How long an invitation is good for, in milliseconds. Source: decision 245. */
export const INVITATION_MS = 7 * 24 * 60 * 60_000;

/** How long a set-up link is good for, in milliseconds. Source: decision 245. */
export const SETUP_LINK_MS = 24 * 60 * 60_000;

/** Members of one account: all of them are read at once. Chosen. */
export const MEMBERS_MAX = 200;

/** Unused links of one account. Chosen. */
export const LINKS_MAX = 100;

/** The members of an account and the links by which others may become some. */
export type People = {
  /** Whether the account is gone, and takes no one in any more. */
  readonly isClosed: boolean;
  readonly members: readonly Membership[];
  readonly links: readonly EntryLink[];
};

/** Those of an account that has none. */
export const NO_PEOPLE: People = { isClosed: false, members: [], links: [] };

/** Whether a link can be used at `nowMs`. A set-up link only while there is no owner. */
export function isUsable(link: EntryLink, people: People, nowMs: number): boolean {
  return nowMs < link.expiresAtMs && (link.kind === 'invitation' || !hasOwner(people));
}

/** Whether an account has someone who lets others in. */
export function hasOwner({ members }: Pick<People, 'members'>): boolean {
  return members.some(({ role }) => role === 'owner');
}

/** Whether it would have one without this user. */
export function isOwnedByOthers({ members }: Pick<People, 'members'>, userId: string): boolean {
  return hasOwner({ members: members.filter((member) => member.userId !== userId) });
}

/** The role that a link gives. */
export function roleOf(link: EntryLink): Role {
  return link.kind === 'invitation' ? link.role : 'owner';
}
