import type { ApiKeyRecord } from '#accounts/account';
import type { People } from '#accounts/people';
import { CtlError } from '#ctl/command';
import type { CopiedStores } from '#ctl/copied-stores';
import { canonicalJson, RowDigest } from '#ctl/row-digest';
import { WorkWindow } from '#ctl/work-window';
import {
  AUDIT_LINES_MAX,
  type AuditHead,
  linesToBorder,
  type StoredAuditLine,
} from '#storage/audit-store';
import type { MeterHead } from '#storage/meter-store';

/**
 * A part of an account besides its instances: how it is compared, and how it comes to another store.
 * Copying it again changes nothing, so what a cut has left is copied again where it differs.
 */
export type AccountPart = {
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
export const ACCOUNT_PARTS: readonly AccountPart[] = [
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
