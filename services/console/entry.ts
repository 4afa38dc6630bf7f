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
};

type EntryParts = Pick<ConsolePorts, 'users' | 'members' | 'clock' | 'randomness'> & {
  readonly audit: ConsoleAudit;
  readonly passwords: Passwords;
  readonly signIn: SignIn;
};

/**
 * Makes who comes by a link a member of its account, and signs them in. An email that no user has
 * becomes a user's, with this password; of one that a user has the password must be right. The link is
 * used by the last step only, so a try that was cut can be made again. Source: decision 245.
 */
export async function enterBy(
  parts: EntryParts,
  link: EntryLink,
  entrant: Entrant,
  visit: Visit,
): Promise<SignedIn> {
  const { users, members, clock, audit, signIn } = parts;
  const found = await users.findByEmail(entrant.email);
  const ready = await userOf(parts, found, entrant, visit);
  const { accountId, digest } = link;
  const actor = { kind: 'user', id: ready.id } as const;
  const action = link.kind === 'setup' ? 'account.set_up' : 'member.join';
  const after = { role: link.kind === 'setup' ? 'owner' : link.role };
  const line = { accountId, actor, ...originOf(visit), action, target: ready.id, after } as const;
  const moved = await audit.around(line, async () => {
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
  return await signIn.enter(moved, accountId, entrant.password, visit);
}

/** Whether surely nothing has happened. */
function isRefusal(error: unknown): boolean {
  return ['not_found', 'conflict'].includes(toFault(error).code);
}

async function userOf(
  { passwords, signIn, clock, randomness }: EntryParts,
  found: StoredUser | undefined,
  { email, name, password }: Entrant,
  visit: Visit,
): Promise<User> {
  if (found !== undefined) {
    if (await signIn.isRight(found, password, visit)) return found.user;
    const text = 'you have signed in with this email before: it is not that password';
    throw faultFor('wrong_password', text, { field: 'password' });
  }
  return {
    ...{ id: `usr_${randomness.hex(USER_ID_DIGITS)}`, email, name },
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
  { users, members }: EntryParts,
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
