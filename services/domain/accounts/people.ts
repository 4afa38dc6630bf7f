import type { Creator } from '#accounts/account';
import { type KeyRight, type KeyScope, rightsOf } from '#accounts/api-key';

/** A user's role in an account. */
export type Membership = {
  readonly accountId: string;
  readonly userId: string;
  readonly role: Role;
  readonly createdAtMs: number;
};

/**
 * A single-use link into an account. An invitation is for one address and role; a set-up link
 * creates the first owner.
 */
export type EntryLink = {
  readonly accountId: string;
  /** SHA-256 of the link's value, base64url. */
  readonly digest: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  /** Creator of the link; absent: an older release did not record the creator. */
  readonly createdBy?: Creator;
} & (
  | { readonly kind: 'invitation'; readonly email: string; readonly role: Role }
  | { readonly kind: 'setup' }
);

/** Lifetime of an invitation, in milliseconds. */
export const INVITATION_MS = 7 * 24 * 60 * 60_000;

/** Lifetime of a set-up link, in milliseconds. */
export const SETUP_LINK_MS = 24 * 60 * 60_000;

/** Maximum number of members per account. A request reads all members together. */
export const MEMBERS_MAX = 200;

/** Maximum number of unused links per account. */
export const LINKS_MAX = 100;

/** An account's members and unused links. */
export type People = {
  /** Whether the account is deleted. A deleted account accepts no members. */
  readonly isClosed: boolean;
  readonly members: readonly Membership[];
  readonly links: readonly EntryLink[];
};

/** An account without members and links. */
export const NO_PEOPLE: People = { isClosed: false, members: [], links: [] };

/** Whether a link can be used at `nowMs`. A set-up link is invalid if the account has an owner. */
export function isUsable(link: EntryLink, people: People, nowMs: number): boolean {
  return nowMs < link.expiresAtMs && (link.kind === 'invitation' || !hasOwner(people));
}

/** Whether an account has an owner. */
export function hasOwner({ members }: Pick<People, 'members'>): boolean {
  return members.some(({ role }) => role === 'owner');
}

/** Whether an account has an owner other than this user. */
export function isOwnedByOthers({ members }: Pick<People, 'members'>, userId: string): boolean {
  return hasOwner({ members: members.filter((member) => member.userId !== userId) });
}

/** The role that a link gives. */
export function roleOf(link: EntryLink): Role {
  return link.kind === 'invitation' ? link.role : 'owner';
}

/** A second factor by time-based codes (RFC 6238). */
type SecondFactor = {
  /** `pending` until the user has entered a first valid code. */
  readonly state: 'pending' | 'active';
  /** The shared secret, encrypted with the cluster secret. */
  readonly sealedSecret: string;
  /** Time step of the newest accepted code. Codes of this or an earlier step are refused. */
  readonly lastStep: number;
};

/** A person who signs in to the console, possibly in several accounts (decision 245). */
export type User = {
  /** `usr_` and 16 hexadecimal characters. */
  readonly id: string;
  /**
   * Email address, normalised by `normalEmail`. Addresses are not verified, so several users may
   * have the same address.
   */
  readonly email: string;
  /**
   * The account whose link created the user. Addresses are unique within an account. Absent: an
   * older version created the user, with a globally unique address. Source: decision 312.
   */
  readonly accountId?: string;
  readonly name: string;
  /** Algorithm, parameters, salt and hash in a single text. */
  readonly passwordHash: string;
  /** Incremented by every change of password or second factor. Sessions with an earlier version are invalid. */
  readonly credentialsVersion: number;
  readonly secondFactor?: SecondFactor;
  /** SHA-256 of the unused recovery codes, base64url. */
  readonly recoveryDigests: readonly string[];
  /** SHA-256 of the cookies of browsers that have signed in, base64url, newest last. */
  readonly deviceDigests: readonly string[];
  readonly createdAtMs: number;
};

/** Unique name that identifies a user at sign-in. */
export function signInName({ email, accountId }: Pick<User, 'email' | 'accountId'>): string {
  return accountId === undefined ? email : `${email} ${accountId}`;
}

/** Address and account in a sign-in name. Addresses contain no space, so a space separates both. */
export function addressIn(name: string): Pick<User, 'email' | 'accountId'> {
  const [email = name, accountId] = name.split(' ');
  return accountId === undefined ? { email } : { email, accountId };
}

const USER_ID = /^usr_[0-9a-f]{16}$/;

/** Whether a text looks like a user id. */
export function isUserId(text: string): boolean {
  return USER_ID.test(text);
}

/** Maximum number of remembered browsers per user; the oldest is dropped first. */
const DEVICES_MAX = 10;

/** Maximum length of an email address, in UTF-16 units. Source: RFC 5321, 4.5.3.1.3. */
const EMAIL_LENGTH_MAX = 254;

const EMAIL = /^[^\s@"(),:;<>[\\\]]{1,64}@[^\s@"(),:;<>[\\\]]+\.[^\s@"(),:;<>[\\\].]+$/u;

/** Control and format characters. They are invisible and never in an address. */
const UNSEEN = /[\p{Cc}\p{Cf}]/u;

/**
 * Normalises an email address: NFKC, trimmed, lower case. Undefined if the text is not an address.
 * The local part becomes lower case too, because providers ignore its case.
 */
export function normalEmail(text: string): string | undefined {
  const normal = text.normalize('NFKC').trim().toLowerCase();
  const isAddress = normal.length <= EMAIL_LENGTH_MAX && EMAIL.test(normal) && !UNSEEN.test(normal);
  return isAddress ? normal : undefined;
}

/** Sets a user's second factor. Undefined removes the second factor and all recovery codes. */
export function withSecondFactor(
  { secondFactor: _, ...user }: User,
  secondFactor: SecondFactor | undefined,
): User {
  return secondFactor === undefined ? { ...user, recoveryDigests: [] } : { ...user, secondFactor };
}

/** Adds a signed-in browser to the user's remembered browsers. */
export function withDevice(user: User, digest: string): User {
  const others = user.deviceDigests.filter((known) => known !== digest);
  return { ...user, deviceDigests: [...others, digest].slice(-DEVICES_MAX) };
}

/** Factors with which a session's user has signed in. */
export type Authentication = 'password' | 'password+totp';

/** A signed-in browser. Only the browser has the session value. Source: decision 245. */
export type Session = {
  /** SHA-256 of the cookie's value, base64url. */
  readonly digest: string;
  readonly userId: string;
  /** The session's account. Each account needs its own session. */
  readonly accountId: string;
  readonly authenticatedBy: Authentication;
  /**
   * The user's `credentialsVersion` at sign-in. The session ends when the user has a later version.
   */
  readonly credentialsVersion: number;
  readonly createdAtMs: number;
  readonly lastSeenAtMs: number;
  /** IP address of the browser at sign-in. */
  readonly address: string;
  /** User agent of the browser at sign-in. */
  readonly client: string;
};

/** Maximum time for which a session may be unused, in milliseconds. */
const SESSION_IDLE_MS = 30 * 60_000;

/** Maximum lifetime of a session, in milliseconds. */
export const SESSION_MS_MAX = 12 * 60 * 60_000;

/** Maximum time between password and second factor, in milliseconds. */
const SECOND_FACTOR_MS_MAX = 5 * 60_000;

/** Minimum interval between `lastSeenAtMs` writes, in milliseconds. */
const SESSION_SEEN_MS = 60_000;

/**
 * Rights of a session: `full`, `second_factor` (may only enter the second factor) or `over` (none).
 */
export type SessionWorth = 'full' | 'second_factor' | 'over';

/**
 * Rights of a session at `nowMs`. When a user activates the second factor, sessions without a
 * second factor lose their rights.
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

/** Whether `lastSeenAtMs` must be written at `nowMs`. */
export function isSeenDue({ lastSeenAtMs }: Session, nowMs: number): boolean {
  return nowMs - lastSeenAtMs >= SESSION_SEEN_MS;
}

/** Minimum length of a password, in code points. Source: NIST SP 800-63B. */
const PASSWORD_LENGTH_MIN = 12;

/** Maximum length of a password, in code points, to bound the hash cost. */
const PASSWORD_LENGTH_MAX = 128;

/** Minimum number of distinct characters in a password. */
const VARIETY_MIN = 5;

/** Sequences that are refused as passwords, forwards and backwards, such as `123456789012`. */
const ROWS = ['01234567890123456789', 'abcdefghijklmnopqrstuvwxyz', 'qwertyuiopasdfghjklzxcvbnm'];

/**
 * Common passwords. Digits and symbols at both ends of a password are removed before the look-up.
 */
const COMMON = new Set([
  ...['password', 'passwordpassword', 'passw0rd', 'p@ssw0rd', 'p@ssword', 'iloveyou', 'letmein'],
  ...['welcome', 'administrator', 'admin', 'changeme', 'football', 'baseball', 'sunshine'],
  ...['princess', 'qwerty', 'qwertyuiop', 'superman', 'trustno1', 'mypassword', 'thisisapassword'],
  ...['correcthorsebatterystaple', 'iloveyouforever', 'unbelievable', 'secret', 'monkey', 'dragon'],
]);

/** Reason why a password is refused. */
type PasswordProblem = 'too_short' | 'too_long' | 'weak_password';

/**
 * Reason for refusing a password for the user with this address; undefined: accepted. Checks only
 * length and obvious passwords, because composition rules make passwords weaker (NIST SP 800-63B).
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

/** Whether the password is mainly the email address or its local part. */
function isAddress(plain: string, email: string): boolean {
  const [local = ''] = email.split('@');
  return [email, local].some(
    (known) => known.length > 2 && plain.replaceAll(known, '').length < PASSWORD_LENGTH_MIN / 2,
  );
}

/**
 * Roles of members. An account with an owner keeps at least one owner, unless an operator removes
 * the last owner.
 */
export const ROLES = ['owner', 'developer', 'billing', 'viewer'] as const;

/** Role of a member. */
export type Role = (typeof ROLES)[number];

/** Permissions for sections of the console. */
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

/** Permissions of a role. Source: the table of roles in docs/console.md. */
export function permissionsOf(role: Role): readonly Permission[] {
  return ALLOWED[role];
}

/** Whether a role has a permission. */
export function mayDo(role: Role, permission: Permission): boolean {
  return ALLOWED[role].includes(permission);
}

/** Permission that a member needs for granting a right to a key, by right. */
const BEHIND: Readonly<Record<KeyRight, Permission>> = {
  full: 'instances.write',
  read: 'instances.read',
  audit: 'audit.read',
  billing: 'billing',
};

/**
 * Rights in `scope` that a role lacks. A member cannot grant these rights to a key, and cannot
 * change a key that has them. Source: decision 310.
 */
export function rightsBeyond(role: Role, scope: KeyScope): KeyRight[] {
  return rightsOf(scope).filter((right) => !mayDo(role, BEHIND[right]));
}
