import type { EntryLink } from '#accounts/people';
import type { User } from '#accounts/user';
import { changedUser } from '#console/changed-user';
import type { ConsoleAudit } from '#console/console-audit';
import type { ConsolePorts } from '#console/console-ports';
import type { Passwords } from '#console/passwords';
import type { SignedIn, SignIn } from '#console/sign-in';
import { originOf, type Visit } from '#console/visit';
import { faultFor, toFault } from '#fault/fault';
import type { StoredUser } from '#storage/user-store';

/** Hexadecimal digits of a user's id. */
const USER_ID_DIGITS = 16;

/** Who enters by a link. */
export type Entrant = {
  readonly email: string;
  readonly name: string;
  readonly password: string;
  /** Of the second factor, of who has been a user of the account before. */
  readonly code?: string | undefined;
};

type EntryParts = Pick<ConsolePorts, 'users' | 'members' | 'clock' | 'randomness'> & {
  readonly audit: ConsoleAudit;
  readonly passwords: Passwords;
  readonly signIn: SignIn;
};

/**
 * Makes who comes by a link a member of its account, and signs them in, as a user of that account: what
 * users other accounts have makes no difference, and so cannot be found out. Who was a user of the
 * account before needs the password of then, and a code where there is a second factor. The link is
 * used by the last step only, so a try that was cut can be made again. Source: decisions 245 and 312.
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

/** Makes a user who is signed in a member by a link. */
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
      // Another request has used the link: who was made for it alone is of no account.
      if (found === undefined && isRefusal(error)) await users.remove(stored);
      throw error;
    }
    return await movedOn(parts, stored, accountId);
  });
}

/** Whether surely nothing has happened. */
function isRefusal(error: unknown): boolean {
  return ['not_found', 'conflict'].includes(toFault(error).code);
}

/** A user of before, whose password is right, and whose code is where there is a second factor. */
async function proven(
  { signIn }: EntryParts,
  found: StoredUser,
  { password, code }: Entrant,
  visit: Visit,
): Promise<StoredUser> {
  if (await signIn.isRight(found, password, visit)) return await signIn.proven(found, code, visit);
  const text = 'you have been in this account with this email before: it is not that password';
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
 * Moves the user's revision on behind the membership: a deletion of their last account, or of the user,
 * that has not seen it (`storage/forget-people`, `ctl users remove`) leaves the user alone then. One that
 * came first has taken the user, and the membership goes again.
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
