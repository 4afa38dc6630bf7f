import type { Account, ApiKeyRecord } from '#accounts/account';
import type { People } from '#accounts/people';
import { canonicalJson, everyAccount, RowDigest, WorkWindow } from '#ctl/bounded-work';
import { type CopiedStores, CtlError, DiffersError } from '#ctl/command';
import type { BothSides } from '#ctl/copy/buckets';
import { feedChunkPages } from '#ctl/verify/feeds';
import {
  AUDIT_LINES_MAX,
  type AuditHead,
  linesToBorder,
  type StoredAuditLine,
} from '#storage/ports/audit';
import { FEED_AGE_MS, type FeedChunk } from '#storage/ports/feeds';
import type { MeterHead } from '#storage/ports/meters';

/** Maximum accounts and users copied or compared concurrently. */
const IN_FLIGHT_MAX = 8;

/** Placeholder account for a deleted id, until `endDeletion` reduces the account to its id. */
const FORGOTTEN = {
  name: '',
  plan: 'free',
  status: 'importing',
  limits: { requestsPerMinute: 0, cyclesPerMonth: 0, instances: 0 },
  createdAtMs: 0,
} as const;

/**
 * Copies all accounts and stores them with status `importing`. The target refuses their keys until
 * `openAccounts`.
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

/** Copies the users. Sessions are not copied, so every user has to sign in again. */
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

/**
 * Gives every account at the target its status at the source. The account's keys then work.
 */
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

/** Counts of compared accounts and users. */
type ComparedAccounts = { readonly accounts: number; readonly users: number };

/**
 * Compares accounts, all their parts, and users. `isOpen` is true after `openAccounts`. Rejects
 * with a `CtlError` that names the first difference.
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
  if (surplus) throw new DiffersError(`account ${surplus.id} exists only at the target`);
  const [ids, otherIds] = [await digestOfIds(source), await digestOfIds(target)];
  if (ids !== otherIds) throw new DiffersError('the ids of deleted accounts differ at the target');
  const [users, otherUsers] = [await digestOfUsers(source), await digestOfUsers(target)];
  if (users.text !== otherUsers.text) throw new DiffersError('the users differ at the target');
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
  throw new CtlError(`account ${account.id} at the target differs from the source`);
}

async function copyDeletedIds(source: CopiedStores, target: CopiedStores): Promise<void> {
  if ((await digestOfIds(source)) === (await digestOfIds(target))) return;
  for await (const ids of source.accounts.deletedIds()) {
    for (const id of ids) await forget(target, id);
  }
}

/** Marks an id as deleted at the target, so that no other account gets the id. */
async function forget(
  { accounts, meters, feeds, keyUses }: CopiedStores,
  id: string,
): Promise<void> {
  const there = await accounts.find(id);
  if (there !== undefined && there.account.name !== FORGOTTEN.name) {
    throw new CtlError(`account ${id} exists at the target, but was deleted at the source`);
  }
  // `create` is refused if an earlier run has already deleted the placeholder.
  if (there === undefined) await accounts.create({ id, ...FORGOTTEN }).catch(() => undefined);
  await accounts.beginDeletion(id, 0);
  await meters.erase(id);
  await feeds.erase(id);
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
 * One kind of account data besides instances, with its comparison and its copy function. Copying is
 * idempotent: after an interruption, parts that differ are copied again.
 */
type AccountPart = {
  /** Display name. */
  readonly name: string;
  /**
   * Digest, equal for equal content. Ignores entries that have expired at `nowMs`.
   */
  readonly digest: (stores: CopiedStores, accountId: string, nowMs: number) => Promise<string>;
  readonly copy: (from: CopiedStores, to: CopiedStores, accountId: string) => Promise<void>;
};

/** Maximum listing rows written concurrently. */
const ROWS_IN_FLIGHT_MAX = 32;

const KEYS: AccountPart = {
  name: 'keys',
  // A store may drop a long expired key at any time, so the key lists of two stores can differ.
  // The copy puts all keys in one write, so a single key proves a complete copy.
  async digest({ accounts }, accountId) {
    const kept = (await accounts.find(accountId))?.keys ?? [];
    return canonicalJson([(await everyKey(accounts, accountId)).length > 0, kept]);
  },
  async copy(from, to, accountId) {
    const keys = await everyKey(from.accounts, accountId);
    await to.accounts.changeKeys(accountId, () => ({ put: keys, answer: undefined }));
  },
};

/** All keys of an account, including long expired keys. */
async function everyKey(
  accounts: CopiedStores['accounts'],
  accountId: string,
): Promise<readonly ApiKeyRecord[]> {
  return await accounts.changeKeys(accountId, (answer) => ({ put: [], answer }));
}

const KEY_USES: AccountPart = {
  name: 'key uses',
  digest: async ({ keyUses }, accountId) => digestOf(await keyUses.find(accountId)),
  async copy(from, to, accountId) {
    for (const use of await from.keyUses.find(accountId)) await to.keyUses.note(accountId, use);
  },
};

const PEOPLE: AccountPart = {
  name: 'members',
  async digest({ members }, accountId, nowMs) {
    const people = await members.find(accountId);
    // A store may drop an expired link at any time, so the digest ignores expired links.
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
    // The first account with a customer owns the customer, so the owner is copied first.
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
    // The store keeps only months that a head names. So a head of the previous version names the
    // months before their rows are copied.
    const before: MeterHead = {
      ...head,
      version: head.version - 1,
      finished: months.toReversed(),
    };
    if (months.length > 0) await to.meters.checkpoint([{ accountId, head: before }]);
    await to.meters.checkpoint([{ accountId, head }]);
  },
};

const FEED: AccountPart = {
  name: 'feed',
  async digest({ feeds }, accountId, nowMs) {
    const digest = new RowDigest();
    const head = await feeds.readHead(accountId);
    if (head === undefined) return digest.text;
    digest.add(head);
    for await (const chunks of feedChunkPages(feeds, accountId, head)) {
      for (const chunk of chunks) if (isKept(chunk, nowMs)) digest.add(chunk);
    }
    return digest.text;
  },
  async copy(from, to, accountId) {
    const head = await from.feeds.readHead(accountId);
    if (head === undefined) return;
    for await (const chunks of feedChunkPages(from.feeds, accountId, head)) {
      await to.feeds.checkpoint([{ accountId, head, chunks }]);
    }
    if (head.endpoints.length > 0) await to.feeds.listEndpoints(accountId);
    await to.feeds.checkpoint([{ accountId, head, chunks: [] }]);
  },
};

/** Whether a store still has to keep a chunk. A store may drop an older chunk at any time. */
function isKept({ rows }: FeedChunk, nowMs: number): boolean {
  const [, , lastMs] = rows.at(-1) ?? ['', 0, 0];
  return lastMs + FEED_AGE_MS > nowMs;
}

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

/** All parts. Keys are safe to copy early: the target refuses keys until the account opens. */
const ACCOUNT_PARTS: readonly AccountPart[] = [
  LISTING,
  METER,
  FEED,
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
  throw new CtlError(`another process changes the billing of ${accountId}`);
}

/** Audit heads of all months with lines, oldest first. */
async function auditHeads({ audit }: CopiedStores, accountId: string): Promise<AuditHead[]> {
  const months = await audit.months(accountId);
  const heads = await Promise.all(months.map((month) => audit.head(accountId, month)));
  return heads.filter((head) => head !== undefined);
}

/**
 * Lines of a month after the first `done` lines, oldest first, in batches for one append. Rejects
 * with a `CtlError` if lines are missing.
 */
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

/**
 * Appends the missing lines of a month with their hashes. Rejects with a `CtlError` if another
 * process also appends.
 */
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
      throw new CtlError(`another process changes the audit trail of ${accountId}`);
    }
    const last = lines.at(-1);
    after = { month, lines: last?.seq ?? after.lines, hash: last?.hash ?? after.hash };
  }
}
