import type { Account } from '#accounts/account';
import { ACCOUNT_PARTS } from '#ctl/account-parts';
import { CtlError, DiffersError } from '#ctl/command';
import type { BothSides } from '#ctl/copied-buckets';
import type { CopiedStores } from '#ctl/copied-stores';
import { everyAccount } from '#ctl/every-account';
import { canonicalJson, RowDigest } from '#ctl/row-digest';
import { WorkWindow } from '#ctl/work-window';

/** Accounts and users that are copied or compared at once. Chosen. */
const IN_FLIGHT_MAX = 8;

/** An account of which nothing but its id is left, before it becomes that. */
const FORGOTTEN = {
  name: '',
  plan: 'free',
  status: 'importing',
  limits: { requestsPerMinute: 0, cyclesPerMonth: 0, instances: 0 },
  createdAtMs: 0,
} as const;

/**
 * Copies the accounts, which stay closed at the target until `openAccounts`: under the status `importing`
 * no key of theirs is let in.
 */
export async function copyAccounts(sides: BothSides, onAccount: () => void): Promise<void> {
  const window = new WorkWindow(IN_FLIGHT_MAX);
  for await (const account of everyAccount(sides.source.accounts)) {
    await window.add(async () => {
      await copyAccount(sides, account);
      onAccount();
    });
  }
  await window.end();
  await copyDeletedIds(sides.source, sides.target);
}

/** Copies the people. Their sessions stay behind: each signs in again. */
export async function copyUsers({ source, target }: BothSides, onUser: () => void): Promise<void> {
  const window = new WorkWindow(IN_FLIGHT_MAX);
  for await (const page of source.users.pages()) {
    for (const user of page) {
      await window.add(async () => {
        if ((await target.users.findByEmail(user.email, user.accountId)) === undefined) {
          await target.users.create(user);
        }
        onUser();
      });
    }
  }
  await window.end();
}

/** Gives every account at the target the status that it has at the source, and with it its callers. */
export async function openAccounts({ source, target }: BothSides): Promise<void> {
  const window = new WorkWindow(IN_FLIGHT_MAX);
  for await (const account of everyAccount(source.accounts)) {
    await window.add(async () => {
      const there = await target.accounts.find(account.id);
      if (there?.account.status === 'importing') await target.accounts.endImport(account);
    });
  }
  await window.end();
}

/** How many there are of what was compared. */
export type ComparedAccounts = { readonly accounts: number; readonly users: number };

/**
 * Compares accounts, all their parts, and people. `isOpen` says whether the accounts at the target are
 * opened. Rejects with a `CtlError` that names the first difference.
 */
export async function compareAccounts(
  { source, target, clock }: BothSides,
  isOpen: boolean,
  onAccount: () => void,
): Promise<ComparedAccounts> {
  const window = new WorkWindow(IN_FLIGHT_MAX);
  const others = everyAccount(target.accounts);
  let accounts = 0;
  for await (const account of everyAccount(source.accounts)) {
    const other = (await others.next()).value;
    assertSameAccount(account, other ?? undefined, isOpen);
    accounts += 1;
    await window.add(async () => {
      const different = await differentParts({ source, target, clock }, account.id);
      if (different.length > 0) {
        const names = different.map(({ name }) => name).join(', ');
        throw new DiffersError(`account ${account.id} differs at the target: ${names}`);
      }
      onAccount();
    });
  }
  await window.end();
  const surplus = (await others.next()).value;
  if (surplus) throw new DiffersError(`account ${surplus.id} is at the target alone`);
  const [ids, otherIds] = [await digestOfIds(source), await digestOfIds(target)];
  if (ids !== otherIds) throw new DiffersError('the ids of deleted accounts differ at the target');
  const [users, otherUsers] = [await digestOfUsers(source), await digestOfUsers(target)];
  if (users.text !== otherUsers.text) throw new DiffersError('the people differ at the target');
  return { accounts, users: users.count };
}

async function copyAccount(sides: BothSides, account: Account): Promise<void> {
  const { source, target } = sides;
  const { id } = account;
  const there = await target.accounts.find(id);
  if (there === undefined) await target.accounts.create({ ...account, status: 'importing' });
  const parts = there === undefined ? ACCOUNT_PARTS : await differentParts(sides, id);
  if (parts.length > 0 && there !== undefined && there.account.status !== 'importing') {
    const names = parts.map(({ name }) => name).join(', ');
    throw new DiffersError(
      `account ${id} was opened at the target and has changed since: ${names}`,
    );
  }
  for (const part of parts) await part.copy(source, target, id);
}

async function differentParts({ source, target, clock }: BothSides, accountId: string) {
  const different = [];
  for (const part of ACCOUNT_PARTS) {
    const nowMs = clock.wallMs();
    const one = await part.digest(source, accountId, nowMs);
    if (one !== (await part.digest(target, accountId, nowMs))) different.push(part);
  }
  return different;
}

function assertSameAccount(account: Account, other: Account | undefined, isOpen: boolean): void {
  const isClosed = !isOpen && other?.status === 'importing';
  const expected = isClosed ? { ...account, status: 'importing' } : account;
  if (other !== undefined && canonicalJson(expected) === canonicalJson(other)) return;
  throw new CtlError(`account ${account.id} is not at the target as it is at the source`);
}

async function copyDeletedIds(source: CopiedStores, target: CopiedStores): Promise<void> {
  if ((await digestOfIds(source)) === (await digestOfIds(target))) return;
  for await (const ids of source.accounts.deletedIds()) {
    for (const id of ids) await forget(target, id);
  }
}

/** Makes an id one that stays taken. */
async function forget({ accounts, meters, keyUses }: CopiedStores, id: string): Promise<void> {
  const there = await accounts.find(id);
  if (there !== undefined && there.account.name !== FORGOTTEN.name) {
    throw new CtlError(`account ${id} is at the target, and was deleted at the source`);
  }
  // It is refused where an earlier try has come further.
  if (there === undefined) await accounts.create({ id, ...FORGOTTEN }).catch(() => undefined);
  await accounts.beginDeletion(id, 0);
  await meters.erase(id);
  await keyUses.erase(id);
  await accounts.endDeletion(id);
}

async function digestOfIds({ accounts }: CopiedStores): Promise<string> {
  const digest = new RowDigest();
  for await (const ids of accounts.deletedIds()) for (const id of ids) digest.add(id);
  return digest.text;
}

async function digestOfUsers({ users }: CopiedStores): Promise<RowDigest> {
  const digest = new RowDigest();
  for await (const page of users.pages()) for (const user of page) digest.add(user);
  return digest;
}
