import type { Creator } from '#accounts/account';
import { type KeyRight, type KeyScope, rightsOf } from '#accounts/api-key';

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

/** A second factor by time-based codes (RFC 6238). Source: decision 246. */
type SecondFactor = {
  /** `pending` until a first code has shown that its user has the secret. */
  readonly state: 'pending' | 'active';
  /** The shared secret, encrypted under the cluster's secret. */
  readonly sealedSecret: string;
  /** The newest time step of which a code was taken: none of it or before is taken again. */
  readonly lastStep: number;
};

/** A person who signs in to the console: of any number of accounts. Source: decision 245. */
export type User = {
  /** `usr_` and 16 hexadecimal characters. */
  readonly id: string;
  /** As `normalEmail` leaves it. No mail proves an address, so that it may be of several users. */
  readonly email: string;
  /**
   * The account whose link made the user: no other user of that account has the address. Absent: made
   * by a version whose addresses were unique everywhere. Source: decision 312.
   */
  readonly accountId?: string;
  readonly name: string;
  /** Algorithm, parameters, salt and hash in one text. */
  readonly passwordHash: string;
  /** Grows with every new password: sessions of an earlier one are over. */
  readonly credentialsVersion: number;
  readonly secondFactor?: SecondFactor;
  /** SHA-256 of the recovery codes that are left, base64url. */
  readonly recoveryDigests: readonly string[];
  /** SHA-256 of the cookies of browsers that have signed in, newest last, base64url. */
  readonly deviceDigests: readonly string[];
  readonly createdAtMs: number;
};

/** The text that no two users share, and by which a user is found at sign-in. */
export function signInName({ email, accountId }: Pick<User, 'email' | 'accountId'>): string {
  return accountId === undefined ? email : `${email} ${accountId}`;
}

/** The address and the account that a sign-in name is made of: no address has a space. */
export function addressIn(name: string): Pick<User, 'email' | 'accountId'> {
  const [email = name, accountId] = name.split(' ');
  return accountId === undefined ? { email } : { email, accountId };
}

const USER_ID = /^usr_[0-9a-f]{16}$/;

/** Whether a text has the form of a user's id. */
export function isUserId(text: string): boolean {
  return USER_ID.test(text);
}

/** Browsers of one user that are remembered; the oldest is forgotten first. Chosen. */
const DEVICES_MAX = 10;

/** UTF-16 units of an email address. Source: RFC 5321, 4.5.3.1.3. */
const EMAIL_LENGTH_MAX = 254;

const EMAIL = /^[^\s@"(),:;<>[\\\]]{1,64}@[^\s@"(),:;<>[\\\]]+\.[^\s@"(),:;<>[\\\].]+$/u;

/** What no address has and no page should show. */
const UNSEEN = /[\p{Cc}\p{Cf}]/u;

/**
 * The form in which an address is stored and compared: NFKC, trimmed, lower case. Undefined for what is
 * no address. The part before the `@` is lowered too, because providers ignore its case.
 */
export function normalEmail(text: string): string | undefined {
  const normal = text.normalize('NFKC').trim().toLowerCase();
  const isAddress = normal.length <= EMAIL_LENGTH_MAX && EMAIL.test(normal) && !UNSEEN.test(normal);
  return isAddress ? normal : undefined;
}

/** A user whose second factor is another; undefined: none any more, and no recovery codes. */
export function withSecondFactor(
  { secondFactor: _, ...user }: User,
  secondFactor: SecondFactor | undefined,
): User {
  return secondFactor === undefined ? { ...user, recoveryDigests: [] } : { ...user, secondFactor };
}

/** A user with one more browser that has signed in. */
export function withDevice(user: User, digest: string): User {
  const others = user.deviceDigests.filter((known) => known !== digest);
  return { ...user, deviceDigests: [...others, digest].slice(-DEVICES_MAX) };
}

/** How a session's user has shown who they are. */
export type Authentication = 'password' | 'password+totp';

/** One browser that is signed in. Its value is known to that browser alone. Source: decision 245. */
export type Session = {
  /** SHA-256 of the cookie's value, base64url. */
  readonly digest: string;
  readonly userId: string;
  /** The account that is looked at; another one is another session. */
  readonly accountId: string;
  readonly authenticatedBy: Authentication;
  /** That of the user when the session began; a later one ends it. */
  readonly credentialsVersion: number;
  readonly createdAtMs: number;
  readonly lastSeenAtMs: number;
  /** Where it began: address and what the browser calls itself. */
  readonly address: string;
  readonly client: string;
};

/** How long a session lives without a request, in milliseconds. Source: decision 245. */
const SESSION_IDLE_MS = 30 * 60_000;

/** How long a session lives at most, in milliseconds. Source: decision 245. */
export const SESSION_MS_MAX = 12 * 60 * 60_000;

/** How long a password counts while the second factor is missing, in milliseconds. */
const SECOND_FACTOR_MS_MAX = 5 * 60_000;

/** How stale `lastSeenAtMs` may get before it is written again, in milliseconds. */
const SESSION_SEEN_MS = 60_000;

/** What a session is worth: all, nothing but the way to the second factor, or nothing. */
export type SessionWorth = 'full' | 'second_factor' | 'over';

/**
 * What a session of this user is worth at `nowMs`. A user who turns the second factor on takes it from
 * every session that has not shown it.
 */
export function worthOf(session: Session, user: User, nowMs: number): SessionWorth {
  const { createdAtMs, lastSeenAtMs, authenticatedBy, credentialsVersion } = session;
  if (session.userId !== user.id || credentialsVersion !== user.credentialsVersion) return 'over';
  const ageMs = nowMs - createdAtMs;
  if (ageMs >= SESSION_MS_MAX || nowMs - lastSeenAtMs >= SESSION_IDLE_MS) return 'over';
  const isFull = user.secondFactor?.state !== 'active' || authenticatedBy === 'password+totp';
  if (isFull) return 'full';
  return ageMs < SECOND_FACTOR_MS_MAX ? 'second_factor' : 'over';
}

/** Whether the time of the last request is to be written at `nowMs`. */
export function isSeenDue({ lastSeenAtMs }: Session, nowMs: number): boolean {
  return nowMs - lastSeenAtMs >= SESSION_SEEN_MS;
}

/** Code points of a password. Source: decision 246, after NIST SP 800-63B. */
const PASSWORD_LENGTH_MIN = 12;

/** Code points of a password: more would only cost the hash. Source: decision 246. */
const PASSWORD_LENGTH_MAX = 128;

/** Different characters that a password has at least. Chosen. */
const VARIETY_MIN = 5;

/** A row of neighbours as long as this is no password: `123456789012`, `abcdefghijkl`. */
const ROWS = ['01234567890123456789', 'abcdefghijklmnopqrstuvwxyz', 'qwertyuiopasdfghjklzxcvbnm'];

/** The most used passwords of 12 characters and more, without digits and signs at their ends. */
const COMMON = new Set([
  ...['password', 'passwordpassword', 'passw0rd', 'p@ssw0rd', 'p@ssword', 'iloveyou', 'letmein'],
  ...['welcome', 'administrator', 'admin', 'changeme', 'football', 'baseball', 'sunshine'],
  ...['princess', 'qwerty', 'qwertyuiop', 'superman', 'trustno1', 'mypassword', 'thisisapassword'],
  ...['correcthorsebatterystaple', 'iloveyouforever', 'unbelievable', 'secret', 'monkey', 'dragon'],
]);

/** Why a text may not be a password. */
type PasswordProblem = 'too_short' | 'too_long' | 'weak_password';

/**
 * What is wrong with a password of the user with this address; undefined: nothing. Only length and the
 * obvious are looked at: rules about kinds of characters make passwords worse (NIST SP 800-63B).
 */
export function passwordProblem(password: string, email: string): PasswordProblem | undefined {
  const length = [...password].length;
  if (length < PASSWORD_LENGTH_MIN) return 'too_short';
  if (length > PASSWORD_LENGTH_MAX) return 'too_long';
  const plain = password.normalize('NFKC').toLowerCase();
  return isRepetitive(plain) || isCommon(plain) || isAddress(plain, email)
    ? 'weak_password'
    : undefined;
}

function isRepetitive(plain: string): boolean {
  const isRepetition = (plain + plain).indexOf(plain, 1) < plain.length;
  return isRepetition || new Set(plain).size < VARIETY_MIN;
}

function isCommon(plain: string): boolean {
  const letters = plain.replace(/^[\d\p{P}\p{S}\s]+|[\d\p{P}\p{S}\s]+$/gu, '');
  const backwards = [...plain].reverse().join('');
  const isRow = ROWS.some((row) => row.includes(plain) || row.includes(backwards));
  return isRow || COMMON.has(letters) || COMMON.has(plain);
}

/** Whether little is left of it without the address, or without what stands before its `@`. */
function isAddress(plain: string, email: string): boolean {
  const [local = ''] = email.split('@');
  return [email, local].some(
    (known) => known.length > 2 && plain.replaceAll(known, '').length < PASSWORD_LENGTH_MIN / 2,
  );
}

/** What a member of an account may be; an account has one owner at least. Source: decision 245. */
export const ROLES = ['owner', 'developer', 'billing', 'viewer'] as const;

/** One of them. */
export type Role = (typeof ROLES)[number];

/** What can be allowed to a member, one word for each part of the console. */
export type Permission =
  | 'keys.read'
  | 'keys.write'
  | 'instances.read'
  | 'instances.write'
  | 'usage.read'
  | 'billing'
  | 'members'
  | 'audit.read';

const ALLOWED: Readonly<Record<Role, readonly Permission[]>> = {
  owner: [
    'keys.read',
    'keys.write',
    'instances.read',
    'instances.write',
    'usage.read',
    'billing',
    'members',
    'audit.read',
  ],
  developer: ['keys.read', 'keys.write', 'instances.read', 'instances.write', 'usage.read'],
  billing: ['usage.read', 'billing'],
  viewer: ['keys.read', 'instances.read', 'usage.read'],
};

/** All that a role allows. Source: the table of decision 245. */
export function permissionsOf(role: Role): readonly Permission[] {
  return ALLOWED[role];
}

/** Whether a role allows something. */
export function mayDo(role: Role, permission: Permission): boolean {
  return ALLOWED[role].includes(permission);
}

/** The permission that stands behind each right of a key. */
const BEHIND: Readonly<Record<KeyRight, Permission>> = {
  full: 'instances.write',
  read: 'instances.read',
  audit: 'audit.read',
  billing: 'billing',
};

/**
 * Rights of `scope` that a role does not have: nobody gives them to a key, nor to those who hold one.
 * Source: decision 310.
 */
export function rightsBeyond(role: Role, scope: KeyScope): KeyRight[] {
  return rightsOf(scope).filter((right) => !mayDo(role, BEHIND[right]));
}
