import type { types } from 'cassandra-driver';
import type { Membership, People } from '#accounts/people';
import { Fault } from '#fault/fault';
import { forEachConcurrently } from '#platform/for-each-concurrently';
import { conditionalAnswerOf } from '#storage/cassandra/conditional-answer';
import { peopleFrom, rowChanges } from '#storage/cassandra/people-rows';
import type { CassandraSession, Statement, StatementOptions } from '#storage/cassandra/session';
import { memberChangesOf } from '#storage/member-changes';
import type { CopiedMembers } from '#storage/member-store';

/** Tries of a change that others get in front of; people of one account rarely change. */
const TRIES_MAX = 8;

/** Accounts of a user that are read at once. */
const READS_IN_FLIGHT_MAX = 8;

/** A conditional write goes through four round trips between servers. Milliseconds. */
const CHANGE_MS_MAX = 5_000;

const FIND = `SELECT account_id, kind, id, revision, is_closed, email, role, created_at_ms,
  expires_at_ms, created_by FROM account_people WHERE account_id = ?`;
const CHANGE = `UPDATE account_people SET revision = ?, is_closed = ? WHERE account_id = ?
  IF revision = ?`;
const ADD_ACCOUNT = 'INSERT INTO user_accounts (user_id, account_id) VALUES (?, ?)';
const FIND_ACCOUNTS = 'SELECT account_id FROM user_accounts WHERE user_id = ?';

/** People of accounts in Cassandra: a partition each, changed only while it is as it was read. */
export function cassandraMemberStore(session: CassandraSession): CopiedMembers {
  const changes = memberChangesOf((accountId, next) => changed(session, accountId, next));

  return {
    find: async (accountId) => (await read(session, accountId)).people,
    accountsOf: (userId) => accountsOf(session, userId),
    ...changes,
    async enter(entry) {
      await addAccount(session, entry.userId, entry.accountId);
      return await changes.enter(entry);
    },
    async put(accountId, people) {
      for (const { userId } of people.members) await addAccount(session, userId, accountId);
      await changes.put(accountId, people);
    },
  };
}

/**
 * Before the membership itself, so that every one is found from its user; one that does not come is
 * passed over.
 */
async function addAccount(
  session: CassandraSession,
  userId: string,
  accountId: string,
): Promise<void> {
  const options: StatementOptions = { kind: 'write', operation: 'user_account_write' };
  await session.execute(ADD_ACCOUNT, [userId, accountId], options);
}

type Stored = { readonly people: People; readonly revision: number | null };

async function read(session: CassandraSession, accountId: string): Promise<Stored> {
  const options: StatementOptions = { kind: 'read', operation: 'people_read' };
  const rows: types.Row[] = [];
  for await (const page of session.pages(FIND, [accountId], options)) rows.push(...page);
  return { people: peopleFrom(rows), revision: rows[0]?.['revision'] ?? null };
}

/** Reads, decides and writes, again until no other writer came in between. */
async function changed(
  session: CassandraSession,
  accountId: string,
  next: (people: People) => People,
): Promise<{ before: People; after: People }> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const { people: before, revision } = await read(session, accountId);
    const after = next(before);
    if (after === before) return { before, after };
    const params = [(revision ?? 0) + 1, after.isClosed, accountId, revision];
    const statements = [{ query: CHANGE, params }, ...rowChanges(accountId, before, after)];
    if (await isApplied(session, statements)) return { before, after };
  }
  throw new Fault('service_unavailable', 'the account is being changed by others', {
    retryAfterS: 1,
  });
}

async function isApplied(session: CassandraSession, statements: readonly Statement[]) {
  const options: StatementOptions = {
    kind: 'conditional',
    operation: 'people_change',
    timeoutMs: CHANGE_MS_MAX,
  };
  return conditionalAnswerOf(await session.batch(statements, options)).isApplied;
}

async function accountsOf(session: CassandraSession, userId: string): Promise<Membership[]> {
  const options: StatementOptions = { kind: 'read', operation: 'user_account_read' };
  const { rows } = await session.execute(FIND_ACCOUNTS, [userId], options);
  const found: (Membership | undefined)[] = [];
  const ids = rows.map((row): string => row['account_id']);
  await forEachConcurrently([...ids.entries()], READS_IN_FLIGHT_MAX, async ([at, accountId]) => {
    const { people } = await read(session, accountId);
    found[at] = people.members.find((member) => member.userId === userId);
  });
  return found.filter((member) => member !== undefined);
}
