import type { Account, ApiKeyRecord } from '#accounts/account';
import type { People } from '#accounts/people';
import { type CopiedStores, CtlError, DiffersError } from '#ctl/command';
import type { BothSides } from '#ctl/copy/buckets';
import { canonicalJson, everyAccount, RowDigest, WorkWindow } from '#ctl/work';
import {
  AUDIT_LINES_MAX,
  type AuditHead,
  linesToBorder,
  type StoredAuditLine,
} from '#storage/ports/audit';
import type { MeterHead } from '#storage/ports/meters';

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
type ComparedAccounts = { readonly accounts: number; readonly users: number };

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

/**
 * A part of an account besides its instances: how it is compared, and how it comes to another store.
 * Copying it again changes nothing, so what a cut has left is copied again where it differs.
 */
type AccountPart = {
  /** As a line for people calls it. */
  readonly name: string;
  /** The same text for the same content. `nowMs` says what has expired. */
  readonly digest: (stores: CopiedStores, accountId: string, nowMs: number) => Promise<string>;
  readonly copy: (from: CopiedStores, to: CopiedStores, accountId: string) => Promise<void>;
};

/** Rows of a listing that are written at once. Chosen. */
const ROWS_IN_FLIGHT_MAX = 32;

const KEYS: AccountPart = {
  name: 'keys',
  // A store may drop a key that expired long ago at any time; all are put at once, so that one shows all.
  async digest({ accounts }, accountId) {
    const kept = (await accounts.find(accountId))?.keys ?? [];
    return canonicalJson([(await everyKey(accounts, accountId)).length > 0, kept]);
  },
  async copy(from, to, accountId) {
    const keys = await everyKey(from.accounts, accountId);
    await to.accounts.changeKeys(accountId, () => ({ put: keys, answer: undefined }));
  },
};

/** The keys of an account, those too that this clock takes for expired long ago. */
async function everyKey(
  accounts: CopiedStores['accounts'],
  accountId: string,
): Promise<readonly ApiKeyRecord[]> {
  return await accounts.changeKeys(accountId, (answer) => ({ put: [], answer }));
}

const KEY_USES: AccountPart = {
  name: 'uses of keys',
  digest: async ({ keyUses }, accountId) => digestOf(await keyUses.find(accountId)),
  async copy(from, to, accountId) {
    for (const use of await from.keyUses.find(accountId)) await to.keyUses.note(accountId, use);
  },
};

const PEOPLE: AccountPart = {
  name: 'members',
  async digest({ members }, accountId, nowMs) {
    const people = await members.find(accountId);
    // A store may drop a link at any time once it is too old.
    const links = people.links.filter(({ expiresAtMs }) => expiresAtMs > nowMs);
    return [people.isClosed, digestOf(people.members), digestOf(links)].join(' ');
  },
  async copy(from, to, accountId) {
    const people = await from.members.find(accountId);
    if (hasPeople(people)) await to.members.put(accountId, people);
  },
};

const BILLING: AccountPart = {
  name: 'billing',
  async digest({ billing }, accountId) {
    const stored = await billing.find(accountId);
    const customers = stored?.record.customers ?? [];
    const owners = await Promise.all(customers.map(({ id }) => billing.accountOf(id)));
    return canonicalJson([stored?.record ?? null, owners]);
  },
  async copy(from, to, accountId) {
    const stored = await from.billing.find(accountId);
    if (stored === undefined) return;
    // A customer is whose it was first: that account comes before this one.
    for (const { id } of stored.record.customers) {
      const owner = await from.billing.accountOf(id);
      if (owner !== undefined && owner !== accountId) await putBilling(from, to, owner);
    }
    await putBilling(from, to, accountId);
  },
};

const METER: AccountPart = {
  name: 'meter',
  async digest({ meters }, accountId) {
    const [head, months] = [await meters.readHead(accountId), await meters.readMonths(accountId)];
    return canonicalJson([head ?? null, months]);
  },
  async copy(from, to, accountId) {
    const head = await from.meters.readHead(accountId);
    if (head === undefined) return;
    const months = await from.meters.readMonths(accountId);
    // A store keeps the months that a head names: those of a version before the real one.
    const before: MeterHead = {
      ...head,
      version: head.version - 1,
      finished: months.toReversed(),
    };
    if (months.length > 0) await to.meters.checkpoint([{ accountId, head: before }]);
    await to.meters.checkpoint([{ accountId, head }]);
  },
};

const LISTING: AccountPart = {
  name: 'listing',
  async digest({ listings }, accountId) {
    const digest = new RowDigest();
    for await (const page of listings.pages(accountId)) for (const row of page) digest.add(row);
    return digest.text;
  },
  async copy(from, to, accountId) {
    const window = new WorkWindow(ROWS_IN_FLIGHT_MAX);
    for await (const page of from.listings.pages(accountId)) {
      for (const row of page) await window.add(() => to.listings.put(accountId, row));
    }
    await window.end();
  },
};

const AUDIT_TRAIL: AccountPart = {
  name: 'audit trail',
  async digest(stores, accountId) {
    const digest = new RowDigest();
    for (const head of await auditHeads(stores, accountId)) {
      digest.add(head);
      for await (const lines of auditLines(stores, accountId, head, 0)) {
        for (const line of lines) digest.add([head.month, line]);
      }
    }
    return digest.text;
  },
  async copy(from, to, accountId) {
    for (const head of await auditHeads(from, accountId)) {
      await copyMonth(from, to, accountId, head);
    }
  },
};

/** Every part. The keys are among them: no one uses them before the account is opened. */
const ACCOUNT_PARTS: readonly AccountPart[] = [
  LISTING,
  METER,
  AUDIT_TRAIL,
  KEY_USES,
  PEOPLE,
  BILLING,
  KEYS,
];

function digestOf(rows: readonly unknown[]): string {
  const digest = new RowDigest();
  for (const row of rows) digest.add(row);
  return digest.text;
}

function hasPeople({ isClosed, members, links }: People): boolean {
  return isClosed || members.length > 0 || links.length > 0;
}

async function putBilling(from: CopiedStores, to: CopiedStores, accountId: string): Promise<void> {
  const stored = await from.billing.find(accountId);
  const revision = (await to.billing.find(accountId))?.revision ?? 0;
  if (stored === undefined || (await to.billing.put(accountId, revision, stored.record))) return;
  throw new CtlError(`the billing of ${accountId} is changed by another process`);
}

/** How far each month with lines has come, oldest first. */
async function auditHeads({ audit }: CopiedStores, accountId: string): Promise<AuditHead[]> {
  const months = await audit.months(accountId);
  const heads = await Promise.all(months.map((month) => audit.head(accountId, month)));
  return heads.filter((head) => head !== undefined);
}

/** The lines of a month behind the first `done`, oldest first, as many at once as one append takes. */
async function* auditLines(
  { audit }: CopiedStores,
  accountId: string,
  { month, lines }: AuditHead,
  done: number,
): AsyncGenerator<StoredAuditLine[]> {
  for (let from = done; from < lines; ) {
    const count = Math.min(AUDIT_LINES_MAX, linesToBorder(from), lines - from);
    const some = await audit.read(accountId, month, from + count, count);
    if (some.length !== count || some.at(-1)?.seq !== from + 1) {
      throw new CtlError(
        `lines ${from + 1} to ${from + count} of ${month} are missing in the audit trail of ${accountId}`,
      );
    }
    yield some.reverse();
    from += count;
  }
}

/** Appends what is missing of a month, line for line with its hash. */
async function copyMonth(
  from: CopiedStores,
  to: CopiedStores,
  accountId: string,
  head: AuditHead,
): Promise<void> {
  const { month } = head;
  let after = (await to.audit.head(accountId, month)) ?? { month, lines: 0, hash: '' };
  for await (const lines of auditLines(from, accountId, head, after.lines)) {
    if (!(await to.audit.append(accountId, after, lines))) {
      throw new CtlError(`the audit trail of ${accountId} is changed by another process`);
    }
    const last = lines.at(-1);
    after = { month, lines: last?.seq ?? after.lines, hash: last?.hash ?? after.hash };
  }
}
