import type { types } from 'cassandra-driver';
import { creatorFrom, creatorText } from '#accounts/creator';
import {
  type EntryLink,
  INVITATION_MS,
  type Membership,
  type People,
  SETUP_LINK_MS,
} from '#accounts/people';
import type { Statement } from '#storage/cassandra/session';

const PUT = `INSERT INTO account_people (account_id, kind, id, email, role, created_at_ms,
  expires_at_ms, created_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?) USING TTL ?`;
const DROP = 'DELETE FROM account_people WHERE account_id = ? AND kind = ? AND id = ?';

/** A row, by its key and with what stands in it. */
type PersonRow = {
  readonly kind: string;
  readonly id: string;
  readonly values: readonly unknown[];
};

/** The people that the rows of a partition are. */
export function peopleFrom(rows: readonly types.Row[]): People {
  const members: Membership[] = [];
  const links: EntryLink[] = [];
  for (const row of rows) {
    const accountId: string = row['account_id'];
    const createdAtMs = Number(row['created_at_ms']);
    const expiresAtMs = Number(row['expires_at_ms']);
    const createdBy = creatorFrom(row['created_by'] ?? undefined);
    const by = createdBy === undefined ? {} : { createdBy };
    const link = { accountId, digest: row['id'], createdAtMs, expiresAtMs, ...by };
    switch (row['kind']) {
      case 'member':
        members.push({ accountId, userId: row['id'], role: row['role'], createdAtMs });
        break;
      case 'invitation':
        links.push({ ...link, kind: 'invitation', email: row['email'], role: row['role'] });
        break;
      case 'setup':
        links.push({ ...link, kind: 'setup' });
    }
  }
  return { isClosed: rows[0]?.['is_closed'] === true, members, links };
}

/** What makes the rows of an account those of `next`: those that are new, changed or gone. */
export function rowChanges(accountId: string, was: People, next: People): Statement[] {
  const before = new Map(rowsOf(was).map((row) => [`${row.kind} ${row.id}`, row]));
  const after = new Map(rowsOf(next).map((row) => [`${row.kind} ${row.id}`, row]));
  const puts = [...after]
    .filter(([key, { values }]) => String(before.get(key)?.values) !== String(values))
    .map(([, { kind, id, values }]) => ({ query: PUT, params: [accountId, kind, id, ...values] }));
  const drops = [...before]
    .filter(([key]) => !after.has(key))
    .map(([, { kind, id }]) => ({ query: DROP, params: [accountId, kind, id] }));
  return [...puts, ...drops];
}

/** Of a link the server keeps a row no longer than any clock may take it for good. */
function rowsOf({ members, links }: People): PersonRow[] {
  return [
    ...members.map(({ userId, role, createdAtMs }) => {
      return {
        kind: 'member',
        id: userId,
        values: [null, role, BigInt(createdAtMs), null, null, 0],
      };
    }),
    ...links.map((link) => {
      const { kind, digest: id } = link;
      const [email, role, lifeMs] =
        link.kind === 'invitation'
          ? [link.email, link.role, INVITATION_MS]
          : [null, null, SETUP_LINK_MS];
      const times = [BigInt(link.createdAtMs), BigInt(link.expiresAtMs)];
      const by = link.createdBy === undefined ? null : creatorText(link.createdBy);
      return { kind, id, values: [email, role, ...times, by, lifeMs / 1_000] };
    }),
  ];
}
