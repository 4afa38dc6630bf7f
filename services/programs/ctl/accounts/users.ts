import { type Creator, keyEndsAtMs } from '#accounts/account';
import {
  type EntryLink,
  hasOwner,
  isOwnedByOthers,
  isUserId,
  type Membership,
  normalEmail,
  type User,
} from '#accounts/people';
import { invitationIdOf, makeSetUpLink } from '#console/people/entry';
import { assertAccount } from '#ctl/accounts/accounts';
import { everyAccount } from '#ctl/bounded-work';
import {
  type ClusterCommand,
  type ClusterPorts,
  CtlError,
  NotFoundError,
  UsageError,
} from '#ctl/command';
import { ACCOUNT, YES } from '#ctl/command-line';
import { type EndAction, OperatorAudit } from '#ctl/operator';
import { type Cell, confirm, counted, table } from '#ctl/printed-text';
import { Fault, toFault } from '#errors/fault';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import { systemRandomness } from '#stdlib/randomness';
import type { StoredUser } from '#storage/ports/people';

/** Maximum concurrent user and account reads. */
const READS_IN_FLIGHT_MAX = 16;

/** An account member, or a person with an open invitation. */
type ListedPerson = {
  readonly user: string | null;
  readonly email: string;
  readonly name: string | null;
  readonly role: string;
  readonly status: 'member' | 'invited';
  readonly second_factor: boolean | null;
  readonly since: string;
  readonly expires: string | null;
};

/** `ctl users list`: shows the members and open invitations of an account. */
export const LIST_USERS: ClusterCommand = {
  kind: 'cluster',
  words: ['users', 'list'],
  summary: 'list members and invitations of an account',
  description:
    'Shows the members of an account with role and second factor, and the open invitations.',
  args: [ACCOUNT],
  options: {},
  async run(ports, [account = '']) {
    await assertAccount(ports, account);
    const data = await peopleOf(ports, account);
    const headings = [
      'USER',
      'EMAIL',
      'NAME',
      'ROLE',
      'STATUS',
      'SECOND FACTOR',
      'SINCE',
      'EXPIRES',
    ];
    return { data, text: table(headings, data.map(listedRowOf)) };
  },
};

async function peopleOf({ people, clock }: ClusterPorts, account: string): Promise<ListedPerson[]> {
  const { members, links } = await people.members.find(account);
  const found: ListedPerson[] = [];
  await forEachConcurrently(members, READS_IN_FLIGHT_MAX, async ({ userId, role, createdAtMs }) => {
    const user = (await people.users.find(userId))?.user;
    found.push({
      ...{ user: userId, email: user?.email ?? '', name: user?.name ?? null, role },
      ...{ status: 'member', second_factor: user?.secondFactor?.state === 'active' },
      ...{ since: timeOf(createdAtMs), expires: null },
    });
  });
  for (const link of links) {
    if (link.kind !== 'invitation' || link.expiresAtMs <= clock.wallMs()) continue;
    const { email, role, createdAtMs, expiresAtMs } = link;
    found.push({
      ...{ user: null, email, name: null, role, status: 'invited', second_factor: null },
      ...{ since: timeOf(createdAtMs), expires: timeOf(expiresAtMs) },
    });
  }
  return found.toSorted((a, b) => (a.email < b.email ? -1 : 1));
}

function listedRowOf(person: ListedPerson): Cell[] {
  const { user, email, name, role, status, second_factor: second, since, expires } = person;
  const factor = second === null ? undefined : second ? 'yes' : 'no';
  const [id, called, until] = [user, name, expires].map((text) => text ?? undefined);
  return [id, email, called, role, status, factor, since, until];
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** Data about a person in one account. */
type Trace = {
  readonly accountId: string;
  readonly membership: Membership | undefined;
  /** Whether the account has another owner. */
  readonly keepsOwner: boolean;
  /** Open invitations for the person's email, and invitations from the person. */
  readonly invitations: readonly EntryLink[];
  /** Ids of usable keys that the person created. An owner decides whether to revoke the keys. */
  readonly keys: readonly string[];
};

/** Data about a person in one account, and the function that audits the outcome. */
type Written = { readonly trace: Trace; readonly end: EndAction };

/** Person to remove: a user, or only an email with open invitations. */
type RemovedPerson = { readonly stored: StoredUser | undefined; readonly email: string };

/** `ctl users remove`: removes a person from every account. */
export const REMOVE_USER: ClusterCommand = {
  kind: 'cluster',
  words: ['users', 'remove'],
  summary: 'remove a person permanently',
  description:
    'Removes a person permanently: ends all sessions and memberships, withdraws open invitations, and frees the email for another person. To remove the last owner of an account, add `--yes`. After an interruption, run the command again.',
  args: [{ name: 'email|user', about: 'email or user id of the person' }],
  options: { yes: YES },
  async run(ports, [named = ''], { yes = false }, terminal) {
    const person = await personNamed(ports, named);
    const traces = await tracesOf(ports, person);
    if (person.stored === undefined && traces.length === 0) {
      throw new NotFoundError(`no user and no open invitation has the email "${person.email}"`);
    }
    const { email } = person;
    if (!yes) {
      assertNoLastOwner(email, traces);
      await confirm(
        {
          ...{ what: 'the email', expected: email, otherwise: NOTHING_REMOVED },
          purpose: `to remove the person from ${counted(traces.length, 'account')}`,
        },
        terminal.ask,
      );
    }
    await removed(ports, person, await writtenDown(ports, traces), yes);
    const data = {
      ...{ user: person.stored?.user.id ?? null, email },
      accounts: traces.map(({ accountId }) => accountId),
      invitations: traces.reduce((sum, { invitations }) => sum + invitations.length, 0),
      keys_to_decide: traces.flatMap(({ keys }) => keys),
      accounts_without_owner: traces.filter((trace) => !trace.keepsOwner).map(idOf),
    };
    return { data, text: textOf(data) };
  },
};

const NOTHING_REMOVED = 'the email does not match: nothing was removed';

async function personNamed(ports: ClusterPorts, named: string): Promise<RemovedPerson> {
  const { people } = ports;
  if (isUserId(named)) {
    const stored = await people.users.find(named);
    if (stored === undefined) throw new NotFoundError(`there is no user "${named}"`);
    return { stored, email: stored.user.email };
  }
  const email = normalEmail(named);
  if (email === undefined)
    throw new UsageError(`"${named}" is neither an email nor the id of a user`);
  return { stored: await userWith(ports, email), email };
}

/**
 * Returns the user with an email, or undefined. Several accounts may each have a user with the same
 * email, and a shared email does not prove a shared identity. Throws a `CtlError` if several users
 * have the email: the operator then gives the user id.
 */
async function userWith(
  { accounts, people }: ClusterPorts,
  email: string,
): Promise<StoredUser | undefined> {
  const found: StoredUser[] = [];
  const plain = await people.users.findByEmail(email);
  if (plain !== undefined) found.push(plain);
  const ids: string[] = [];
  for await (const { id } of everyAccount(accounts)) ids.push(id);
  await forEachConcurrently(ids, READS_IN_FLIGHT_MAX, async (accountId) => {
    const own = await people.users.findByEmail(email, accountId);
    if (own !== undefined) found.push(own);
  });
  if (found.length <= 1) return found[0];
  const which = found.map(({ user }) => user.id).toSorted();
  throw new CtlError(
    `several users have the email "${email}": use one of these user ids instead: ${which.join(', ')}`,
  );
}

/**
 * Finds the data about a person in all accounts. Links are stored by account, so every account is
 * read.
 */
async function tracesOf(
  { accounts, people, clock }: ClusterPorts,
  { stored, email }: RemovedPerson,
): Promise<Trace[]> {
  const userId = stored?.user.id;
  const ids = new Set<string>();
  // The user's own accounts come first, because the listing may lack a new account.
  const own = userId === undefined ? [] : await people.members.accountsOf(userId);
  for (const { accountId } of own) ids.add(accountId);
  for await (const { id } of everyAccount(accounts)) ids.add(id);
  const found: Trace[] = [];
  await forEachConcurrently([...ids], READS_IN_FLIGHT_MAX, async (accountId) => {
    const all = await people.members.find(accountId);
    const membership = all.members.find((member) => member.userId === userId);
    const isOwner = membership?.role === 'owner';
    const invitations = all.links.filter(
      (link) =>
        link.kind === 'invitation' &&
        (link.email === email ||
          isMaker(link.createdBy, userId) ||
          (isOwner && link.createdBy === undefined)),
    );
    const nowMs = clock.wallMs();
    const keys = ((await accounts.find(accountId))?.keys ?? [])
      .filter((key) => isMaker(key.createdBy, userId) && nowMs < keyEndsAtMs(key))
      .map(({ id }) => id);
    if (membership === undefined && invitations.length === 0 && keys.length === 0) return;
    const keepsOwner = membership?.role !== 'owner' || isOwnedByOthers(all, membership.userId);
    found.push({ accountId, membership, keepsOwner, invitations, keys });
  });
  return found.toSorted((a, b) => (a.accountId < b.accountId ? -1 : 1));
}

function isMaker(maker: Creator | undefined, userId: string | undefined): boolean {
  return userId !== undefined && maker?.kind === 'user' && maker.id === userId;
}

function assertNoLastOwner(email: string, traces: readonly Trace[]): void {
  const orphaned = traces.filter(({ keepsOwner }) => !keepsOwner).map(idOf);
  if (orphaned.length === 0) return;
  const accounts = `${orphaned.length === 1 ? 'account' : 'accounts'} ${orphaned.join(', ')}`;
  throw new CtlError(
    `${email} is the last owner of ${accounts}: add --yes to remove the person anyway, then invite a new owner with "ctl users setup-link"`,
  );
}

/** Appends a `begun` line to the trail of every affected account before any change. */
async function writtenDown(ports: ClusterPorts, traces: readonly Trace[]): Promise<Written[]> {
  const audit = new OperatorAudit(ports);
  const written: Written[] = [];
  for (const trace of traces) {
    const ends: EndAction[] = [];
    for (const what of actionsOn(trace)) ends.push(await audit.begin(trace.accountId, what));
    const end: EndAction = async (outcome) => {
      for (const each of ends) await each(outcome);
    };
    written.push({ trace, end });
  }
  return written;
}

/** Audit actions for removing a person from an account. */
function actionsOn({ membership, invitations }: Trace) {
  const taken = invitations.flatMap((link) => {
    if (link.kind !== 'invitation') return [];
    const { email, role } = link;
    const target = invitationIdOf(link);
    return [{ action: 'member.uninvite', target, before: { email, role } }];
  });
  if (membership === undefined) return taken;
  const { userId: target, role } = membership;
  return [...taken, { action: 'member.remove', target, before: { role } }];
}

/**
 * Removes the person from all accounts, then removes the user. The order makes the command
 * repeatable after an interruption.
 */
async function removed(
  { people }: ClusterPorts,
  { stored, email }: RemovedPerson,
  written: readonly Written[],
  lastOwnerToo: boolean,
): Promise<void> {
  if (stored !== undefined) await endSessions(people.sessions, stored.user);
  for (const { trace, end } of written) {
    try {
      await leave(people.members, trace, { lastOwnerToo, email });
    } catch (error) {
      await end(toFault(error).code);
      throw error;
    }
    await end('done');
  }
  // The conditional delete fails if the user has joined another account meanwhile
  // (`console/people/entry`).
  if (stored !== undefined && !(await people.users.remove(stored))) {
    throw new CtlError(
      `user ${email} changed or joined an account meanwhile: run the command again`,
    );
  }
}

/** Removes a person from one account: first the invitations, then the membership. */
async function leave(
  members: ClusterPorts['people']['members'],
  { accountId, membership, invitations }: Trace,
  { lastOwnerToo, email }: { readonly lastOwnerToo: boolean; readonly email: string },
): Promise<void> {
  for (const { digest } of invitations) await unlessGone(members.dropLink(accountId, digest));
  if (membership === undefined) return;
  await unlessGone(members.remove(accountId, membership.userId, { lastOwnerToo, email }));
}

async function endSessions(
  sessions: ClusterPorts['people']['sessions'],
  { id }: User,
): Promise<void> {
  const own = await sessions.listOf(id);
  await sessions.end(
    id,
    own.map(({ digest }) => digest),
  );
}

/** Ignores `not_found`: another process has made the same change. */
async function unlessGone(change: Promise<void>): Promise<void> {
  await change.catch((error: unknown) => {
    if (!(error instanceof Fault) || error.code !== 'not_found') throw error;
  });
}

function textOf(done: {
  readonly user: string | null;
  readonly email: string;
  readonly accounts: readonly string[];
  readonly invitations: number;
  readonly keys_to_decide: readonly string[];
  readonly accounts_without_owner: readonly string[];
}): string {
  const { user, email, accounts, invitations, accounts_without_owner: orphaned } = done;
  const who =
    user === null ? `No user had the email ${email}` : `User ${user} (${email}) is removed`;
  const back = `${counted(invitations, 'invitation')} withdrawn`;
  const where = accounts.length === 0 ? '' : ` Accounts affected: ${accounts.join(', ')}.`;
  const next = orphaned.map(
    (id) => `\nAccount ${id} has no owner now. Invite an owner: ctl users setup-link ${id}`,
  );
  const keys = done.keys_to_decide;
  const made =
    keys.length === 0
      ? ''
      : `\nThese keys of the person still work. Rotate or revoke them: ${keys.join(', ')}`;
  return `${who}; ${back}.${where}${made}${next.join('')}`;
}

function idOf({ accountId }: Trace): string {
  return accountId;
}

/** `ctl users setup-link`: prints the sign-up link for the first owner of an account. */
export const SETUP_LINK: ClusterCommand = {
  kind: 'cluster',
  words: ['users', 'setup-link'],
  summary: 'print the link for the first owner of an account',
  description:
    'Prints a set-up link for an account without an owner. The link works once, within 24 hours. The person who opens the link in the console becomes the first owner.',
  args: [ACCOUNT],
  options: {},
  async run(ports, [account = '']) {
    const { people, clock, consoleOrigin } = ports;
    await assertAccount(ports, account);
    if (consoleOrigin === undefined) {
      throw new CtlError('SERVICE_CONSOLE_ORIGIN is not set: set it to the address of the console');
    }
    if (hasOwner(await people.members.find(account))) throw ownedAlready(account);
    const making = { members: people.members, clock, randomness: systemRandomness };
    const what = { action: 'account.setup_link', target: account };
    const link = await new OperatorAudit(ports).around(account, what, async () =>
      makeSetUpLink(making, account, consoleOrigin),
    );
    if (link === undefined) throw ownedAlready(account);
    return { data: { account, link }, text: link };
  },
};

function ownedAlready(account: string): CtlError {
  return new CtlError(
    `account ${account} has an owner already: owners invite members in the console`,
  );
}
