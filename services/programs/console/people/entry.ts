import { digestOf, isAccountId } from '#accounts/api-key';
import {
  type EntryLink,
  hasOwner,
  isUsable,
  type People,
  roleOf,
  SETUP_LINK_MS,
  type User,
} from '#accounts/people';
import type { EntryLinkView } from '#console/answers';
import type { ConsolePorts } from '#console/app/ports';
import { originOf, type Visit } from '#console/app/visit';
import type { ConsoleAudit } from '#console/people/audit';
import { VALUE_LENGTH } from '#console/people/live-sessions';
import type { Passwords } from '#console/people/passwords';
import { changedUser, type SignedIn, type SignIn } from '#console/people/sign-in';
import { faultFor, toFault } from '#errors/fault';
import { type Clock, isoTime } from '#stdlib/clock';
import type { Randomness } from '#stdlib/randomness';
import type { MemberStore, StoredUser } from '#storage/ports/people';

/** User id length, in hexadecimal digits. */
const USER_ID_DIGITS = 16;

/** Fields that a person fills in on the page of an entry link. */
export type Entrant = {
  readonly email: string;
  readonly name: string;
  readonly password: string;
  /** Second factor code, for a former user of the account. */
  readonly code?: string | undefined;
};

type EntryParts = Pick<ConsolePorts, 'users' | 'members' | 'clock' | 'randomness'> & {
  readonly audit: ConsoleAudit;
  readonly passwords: Passwords;
  readonly signIn: SignIn;
};

/**
 * Makes a person a member of a link's account, and signs the person in. The user belongs to the
 * link's account. The answer reveals nothing about other accounts, because their users are not
 * read.
 *
 * A former user of the account needs the old password, and a code if a second factor is active. The
 * last step consumes the link, so an interrupted attempt can be repeated. Source: decisions 245 and
 * 312.
 */
export async function enterBy(
  parts: EntryParts,
  link: EntryLink,
  entrant: Entrant,
  visit: Visit,
): Promise<SignedIn> {
  const { users, signIn } = parts;
  const { accountId } = link;
  const before = await users.findByEmail(entrant.email, accountId);
  const found = before && (await proven(parts, before, entrant, visit));
  const ready = found?.user ?? (await newUser(parts, accountId, entrant));
  const moved = await joinedBy(parts, link, { found, ready }, visit);
  const isProven = found?.user.secondFactor?.state === 'active';
  return await signIn.enter(moved, accountId, entrant.password, visit, isProven);
}

/** Makes a user a member of a link's account. Creates the user if `found` is undefined. */
export async function joinedBy(
  parts: Pick<EntryParts, 'users' | 'members' | 'clock' | 'audit'>,
  link: EntryLink,
  { found, ready }: { readonly found: StoredUser | undefined; readonly ready: User },
  visit: Visit,
): Promise<StoredUser> {
  const { users, members, clock, audit } = parts;
  const { accountId, digest } = link;
  const actor = { kind: 'user', id: ready.id } as const;
  const action = link.kind === 'setup' ? 'account.set_up' : 'member.join';
  const after = { role: link.kind === 'setup' ? 'owner' : link.role };
  const line = { accountId, actor, ...originOf(visit), action, target: ready.id, after } as const;
  return await audit.around(line, async () => {
    const stored = found ?? (await users.create(ready));
    try {
      await members.enter({ accountId, digest, userId: ready.id, atMs: clock.wallMs() });
    } catch (error) {
      // Another request has consumed the link. A user that was created for this link has no
      // account, and is removed.
      if (found === undefined && isRefusal(error)) await users.remove(stored);
      throw error;
    }
    return await movedOn(parts, stored, accountId);
  });
}

/** Whether the error proves that nothing was written. */
function isRefusal(error: unknown): boolean {
  return ['not_found', 'conflict'].includes(toFault(error).code);
}

/** Checks password and code of a former user. Throws `wrong_password` if the password is wrong. */
async function proven(
  { signIn }: EntryParts,
  found: StoredUser,
  { password, code }: Entrant,
  visit: Visit,
): Promise<StoredUser> {
  if (await signIn.isRight(found, password, visit)) return await signIn.proven(found, code, visit);
  const text = 'this email was a member of this account before; enter the former password';
  throw faultFor('wrong_password', text, { field: 'password' });
}

async function newUser(
  { passwords, clock, randomness }: EntryParts,
  accountId: string,
  { email, name, password }: Entrant,
): Promise<User> {
  return {
    ...{ id: `usr_${randomness.hex(USER_ID_DIGITS)}`, email, accountId, name },
    passwordHash: await passwords.hash(password, email),
    ...{ credentialsVersion: 1, recoveryDigests: [], deviceDigests: [] },
    createdAtMs: clock.wallMs(),
  };
}

/**
 * Increments the user's revision after the membership was written. A concurrent deletion with the
 * old revision then fails its compare-and-set (`storage/ports/people`, `ctl users remove`). If a
 * deletion came first, the membership is removed again.
 */
async function movedOn(
  { users, members }: Pick<EntryParts, 'users' | 'members'>,
  stored: StoredUser,
  accountId: string,
): Promise<StoredUser> {
  try {
    return await changedUser(users, stored, (user) => user);
  } catch (error) {
    if (toFault(error).code === 'conflict') {
      await members.remove(accountId, stored.user.id, { lastOwnerToo: true });
    }
    throw error;
  }
}

/** A new link token and its digest. The token is shown once, and only the digest is stored. */
type NewValue = { readonly token: string; readonly digest: string };

const TOKEN = /^(?<accountId>[0-9A-Za-z]{12})\.[0-9A-Za-z]{43}$/;

/** Creates a link token: account id and 256 random bits. Source: decision 245. */
export function newLinkValue(accountId: string, randomness: Randomness): NewValue {
  const token = `${accountId}.${randomness.base62(VALUE_LENGTH)}`;
  return { token, digest: digestOf(token) };
}

/** Link address. The token is in the fragment, which browsers never send to a server. */
export function linkText(origin: string, kind: EntryLink['kind'], token: string): string {
  return `${origin}/#/${kind === 'setup' ? 'set-up' : 'invitation'}/${token}`;
}

/** Finds a token's link. Throws 404 with the same text for every reason. */
export async function linkOf(
  { members, clock }: { readonly members: MemberStore; readonly clock: Clock },
  token: string,
  kind: EntryLink['kind'],
): Promise<EntryLink> {
  const { accountId } = TOKEN.exec(token)?.groups ?? {};
  const people = accountId === undefined ? undefined : await members.find(accountId);
  const link = people && usableIn(people, token, kind, clock.wallMs());
  if (link !== undefined) return link;
  throw faultFor('link_not_usable', 'this link was used, withdrawn or has expired');
}

/**
 * Describes a token's link without using the link. Throws like `linkOf`. A person without the whole
 * token learns nothing: the token has 256 random bits, and every refusal is the same.
 */
export async function describedLink(
  ports: Pick<ConsolePorts, 'users' | 'members' | 'accounts' | 'clock'>,
  token: string,
  kind: EntryLink['kind'],
): Promise<EntryLinkView> {
  const link = await linkOf(ports, token, kind);
  const { accountId, createdBy } = link;
  const found = await ports.accounts.find(accountId);
  const account = { id: accountId, name: found?.account.name ?? null };
  const common = { account, role: roleOf(link), expires_at: isoTime(link.expiresAtMs) };
  if (link.kind === 'setup') return common;
  const inviter = createdBy?.kind === 'user' ? await ports.users.find(createdBy.id) : undefined;
  const by = inviter && { invited_by: inviter.user.name };
  return { ...common, email: link.email, ...by };
}

function usableIn(
  people: People,
  token: string,
  kind: EntryLink['kind'],
  nowMs: number,
): EntryLink | undefined {
  const digest = digestOf(token);
  const link = people.links.find((each) => each.digest === digest && each.kind === kind);
  return link !== undefined && isUsable(link, people, nowMs) ? link : undefined;
}

/** Length of an invitation's public id, a prefix of its digest. The digest is not secret. */
const INVITATION_ID_LENGTH = 16;

/** Returns the public id of an invitation. The id gives no access. */
export function invitationIdOf({ digest }: EntryLink): string {
  return `inv_${digest.slice(0, INVITATION_ID_LENGTH)}`;
}

/** Ports of `makeSetUpLink`. */
type SetUpPorts = {
  readonly members: MemberStore;
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly randomness: Randomness;
};

/**
 * Creates a link for the first owner of an account. The link works once, within 24 h. The new link
 * replaces an earlier link. Returns undefined if the account has an owner, because an owner can
 * invite others.
 */
export async function makeSetUpLink(
  { members, clock, randomness }: SetUpPorts,
  accountId: string,
  origin: string,
): Promise<string | undefined> {
  if (!isAccountId(accountId)) throw new RangeError(`"${accountId}" is not an account id`);
  const people = await members.find(accountId);
  if (hasOwner(people)) return undefined;
  const { token, digest } = newLinkValue(accountId, randomness);
  const createdAtMs = clock.wallMs();
  const expiresAtMs = createdAtMs + SETUP_LINK_MS;
  await members.addLink({ kind: 'setup', accountId, digest, createdAtMs, expiresAtMs });
  return linkText(origin, 'setup', token);
}
