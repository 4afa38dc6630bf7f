import {
  type Account,
  type AccountWithKeys,
  type ApiKeyRecord,
  EXPIRED_KEY_KEPT_MS,
  isKept,
} from '#accounts/account';
import { Fault } from '#errors/fault';
import type { Clock } from '#stdlib/clock';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import {
  accountColumns,
  accountFrom,
  KEY_COLUMNS,
  keyColumns,
  keyFrom,
  SELECTED_COLUMNS,
  TOMBSTONE_COLUMNS,
  TOMBSTONE_STATUS,
} from '#storage/cassandra/account-rows';
import type { CassandraSession, Statement, StatementOptions } from '#storage/cassandra/session';
import { conditionalAnswerOf } from '#storage/cassandra/statements';
import {
  ACCOUNTS_PAGE_MAX,
  assertDeleting,
  assertNotDeleting,
  fieldChangesOf,
  type KeyChange,
  type ManagedAccounts,
  newOnes,
} from '#storage/ports/accounts';

/**
 * Maximum number of attempts per change. Two administrators rarely change an account at the same
 * time.
 */
const TRIES_MAX = 8;

/** Maximum number of accounts that a listing reads in parallel. */
const READS_IN_FLIGHT_MAX = 16;

/**
 * Timeout of a conditional write, in milliseconds. A conditional write needs four round trips
 * between servers.
 */
const CHANGE_MS_MAX = 5_000;

const FIND = `SELECT ${SELECTED_COLUMNS} FROM accounts WHERE account_id = ?`;
const CREATE = `INSERT INTO accounts (account_id, revision, name, plan, status,
  requests_per_minute, cycles_per_month, instances, model_version, retention_days, created_at_ms,
  next_plan, next_plan_from, next_requests_per_minute, next_cycles_per_month, next_instances,
  next_plan_at_ms) VALUES (?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) IF NOT EXISTS`;
// All ids are in one bucket, in order.
const ADD_ID = 'INSERT INTO account_ids (bucket, account_id) VALUES (0, ?)';
const LIST_IDS = 'SELECT account_id FROM account_ids WHERE bucket = 0 AND account_id > ? LIMIT ?';

type AccountPorts = {
  readonly session: CassandraSession;
  readonly clock: Pick<Clock, 'wallMs'>;
};

/**
 * Accounts in Cassandra, one partition per account, changed under an optimistic lock. The row of a
 * key exists at least as long as the key is kept. After this time, reads skip the row. Only the
 * servers delete a row, by a TTL that is fixed when the key is created. A process whose clock is
 * years ahead thus cannot delete keys.
 */
export function cassandraAccountStore(
  session: CassandraSession,
  clock: Pick<Clock, 'wallMs'>,
): ManagedAccounts {
  const ports = { session, clock };
  return {
    async create(account) {
      const { id } = account;
      // The id is written first, so that every account is listed. Listings skip an id without an
      // account.
      const options: StatementOptions = { kind: 'write', operation: 'account_id_write' };
      await session.execute(ADD_ID, [id], options);
      const isApplied = await conditional(session, [
        { query: CREATE, params: [id, ...accountColumns(account)] },
      ]);
      if (!isApplied) throw new Fault('conflict', 'there is an account with this id');
    },
    async find(accountId): Promise<AccountWithKeys | undefined> {
      const stored = await find(ports, accountId);
      if (stored?.isDeleted) return undefined;
      return stored && { account: stored.account, keys: stored.kept.map(({ key }) => key) };
    },
    list: ({ afterId, limit }) => list(ports, afterId ?? '', Math.min(limit, ACCOUNTS_PAGE_MAX)),
    ...fieldChangesOf((accountId, next) => changed(ports, accountId, next)),
    changeKeys: (accountId, decide) => changeKeys(ports, accountId, decide),
    async beginDeletion(accountId, revokedAtMs) {
      if ((await find(ports, accountId))?.isDeleted) return 'deleted';
      await change(ports, accountId, (stored) => deletionOf(stored, revokedAtMs));
      return 'deleting';
    },
    async endDeletion(accountId) {
      if ((await find(ports, accountId))?.isDeleted) return;
      await change(ports, accountId, ({ account }) => {
        assertDeleting(account);
        return 'tombstone';
      });
    },
    deletedIds: () => deletedIds(ports),
  };
}

async function find(
  { session, clock }: AccountPorts,
  accountId: string,
): Promise<StoredAccount | undefined> {
  const options: StatementOptions = { kind: 'read', operation: 'account_read' };
  const kept: PlacedKey[] = [];
  const passedOver: PlacedKey[] = [];
  const nowMs = clock.wallMs();
  let stored: StoredAccount | undefined;
  for await (const page of session.pages(FIND, [accountId], options)) {
    for (const row of page) {
      // Keys are ordered by age, and rows of old keys may be deleted. The next key is placed behind
      // the last key.
      const nextPosition = (row['key_position'] ?? -1) + 1;
      const account = stored?.account ?? accountFrom(row);
      const isDeleted = row['status'] === TOMBSTONE_STATUS;
      const revision: number = row['revision'];
      stored = { revision, account, isDeleted, kept, passedOver, nextPosition };
      // An account without keys has one row, with static columns only.
      if (row['key_id'] === null) continue;
      const key = keyFrom(row);
      const place = isKept(key, nowMs) ? kept : passedOver;
      place.push({ key, position: row['key_position'] });
    }
  }
  return stored;
}

/** Ids of all accounts in order, starting after `after`. Includes deleted accounts. */
async function idsAfter(
  { session }: AccountPorts,
  after: string,
  wanted: number,
): Promise<readonly string[]> {
  const options: StatementOptions = { kind: 'read', operation: 'account_ids_read' };
  const { rows } = await session.execute(LIST_IDS, [after, wanted], options);
  return rows.map((row): string => row['account_id']);
}

async function* deletedIds(ports: AccountPorts): AsyncGenerator<readonly string[]> {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const ids = await idsAfter(ports, after, ACCOUNTS_PAGE_MAX);
    const found = await findEach(ports, ids);
    yield ids.filter((_, index) => found[index]?.isDeleted);
    after = ids.at(-1);
  }
}

async function list(ports: AccountPorts, afterId: string, limit: number): Promise<Account[]> {
  const accounts: Account[] = [];
  let after = afterId;
  while (accounts.length < limit) {
    const wanted = limit - accounts.length;
    const ids = await idsAfter(ports, after, wanted);
    accounts.push(...(await findAll(ports, ids)));
    const last = ids.at(-1);
    if (last === undefined || ids.length < wanted) break;
    after = last;
  }
  return accounts;
}

/** Accounts with these ids in the same order, without missing and deleted accounts. */
async function findAll(ports: AccountPorts, ids: readonly string[]): Promise<Account[]> {
  const found = await findEach(ports, ids);
  return found.flatMap((stored) =>
    stored === undefined || stored.isDeleted ? [] : [stored.account],
  );
}

/** Stored accounts for ids, in the same order; undefined for an unknown id. */
async function findEach(
  ports: AccountPorts,
  ids: readonly string[],
): Promise<(StoredAccount | undefined)[]> {
  const found: (StoredAccount | undefined)[] = [];
  await forEachConcurrently([...ids.entries()], READS_IN_FLIGHT_MAX, async ([index, id]) => {
    found[index] = await find(ports, id);
  });
  return found;
}

async function changed(
  ports: AccountPorts,
  accountId: string,
  next: (account: Account) => Account,
): Promise<Account> {
  let account: Account | undefined;
  await change(ports, accountId, (stored) => {
    account = next(stored.account);
    return account === stored.account ? undefined : { account };
  });
  if (account === undefined) throw new Error('a change is decided before it is made');
  return account;
}

async function changeKeys<Answer>(
  ports: AccountPorts,
  accountId: string,
  decide: (keys: readonly ApiKeyRecord[]) => KeyChange<Answer>,
): Promise<Answer> {
  let decided: KeyChange<Answer> | undefined;
  await change(ports, accountId, (stored) => {
    decided = decide(storedKeysOf(stored).map(({ key }) => key));
    if (decided.put.length === 0) return undefined;
    const { account } = stored;
    assertNotDeleting(account);
    return { account, keys: placedKeys(stored, decided.put) };
  });
  if (decided === undefined) throw new Error('a change is decided before it is made');
  return decided.answer;
}

/** Reads, decides and writes under an optimistic lock, and repeats after a conflict. */
async function change(
  ports: AccountPorts,
  accountId: string,
  decide: (stored: StoredAccount) => AccountChange | undefined,
): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const stored = await find(ports, accountId);
    if (stored === undefined || stored.isDeleted) {
      throw new Fault('not_found', 'there is no such account');
    }
    const decided = decide(stored);
    if (decided === undefined) return;
    const statements = statementsOf(stored, decided);
    if (await conditional(ports.session, statements)) return;
  }
  throw new Fault('service_unavailable', 'the account is being changed by others: try again', {
    retryAfterS: 1,
  });
}

async function conditional(
  session: CassandraSession,
  statements: readonly Statement[],
): Promise<boolean> {
  const options: StatementOptions = {
    kind: 'conditional',
    operation: 'account_change',
    timeoutMs: CHANGE_MS_MAX,
  };
  return conditionalAnswerOf(await session.batch(statements, options)).isApplied;
}

/**
 * Maximum TTL in Cassandra, in seconds (20 years). The row of a key with a longer lifetime has no
 * TTL.
 */
const TTL_S_MAX = 630_720_000;

const CHANGE = `UPDATE accounts SET revision = ?, name = ?, plan = ?, status = ?,
  requests_per_minute = ?, cycles_per_month = ?, instances = ?, model_version = ?,
  retention_days = ?, created_at_ms = ?, next_plan = ?, next_plan_from = ?,
  next_requests_per_minute = ?, next_cycles_per_month = ?, next_instances = ?, next_plan_at_ms = ?
  WHERE account_id = ? IF revision = ?`;
const PUT_KEY = `INSERT INTO accounts (account_id, key_position, ${KEY_COLUMNS})
  VALUES (?, ?, ${KEY_COLUMNS.split(',').map(() => '?')}) USING TTL ?`;
const DROP_KEY = 'DELETE FROM accounts WHERE account_id = ? AND key_position = ?';

/** A key and its position in the partition. */
type PlacedKey = { readonly key: ApiKeyRecord; readonly position: number };

/** Stored account, and its revision for the optimistic lock. */
type StoredAccount = {
  readonly revision: number;
  readonly account: Account;
  /** Whether only the id is left. */
  readonly isDeleted: boolean;
  readonly kept: readonly PlacedKey[];
  /** Keys that expired long ago by this process's clock, until a server deletes their rows. */
  readonly passedOver: readonly PlacedKey[];
  /** Position of the next key, also behind `passedOver` keys. */
  readonly nextPosition: number;
};

/** Change of an account: its fields, keys at their positions, or a tombstone with only the id. */
type AccountChange =
  | { readonly account: Account; readonly keys?: readonly PlacedKey[] }
  | 'tombstone';

/** All stored keys, oldest first. */
function storedKeysOf({ kept, passedOver }: StoredAccount): readonly PlacedKey[] {
  return [...kept, ...passedOver].toSorted((one, other) => one.position - other.position);
}

/**
 * Keys in `put` with their positions. A known id keeps its position; new keys are placed behind all
 * others. Throws `conflict` as `AccountStore.changeKeys`.
 */
function placedKeys(stored: StoredAccount, put: readonly ApiKeyRecord[]): readonly PlacedKey[] {
  const placed = storedKeysOf(stored);
  const positions = new Map(placed.map(({ key, position }) => [key.id, position]));
  const added = newOnes(
    placed.map(({ key }) => key),
    put,
  );
  for (const [index, { id }] of added.entries()) positions.set(id, stored.nextPosition + index);
  return put.map((key) => ({ key, position: positions.get(key.id) ?? stored.nextPosition }));
}

/**
 * First change of a deletion, which revokes all keys. Undefined if the deletion has already begun:
 * the keys are revoked, and none was added since.
 */
function deletionOf(stored: StoredAccount, revokedAtMs: number): AccountChange | undefined {
  const { account } = stored;
  if (account.status === 'deleting') return undefined;
  const keys = storedKeysOf(stored)
    .filter(({ key }) => key.revokedAtMs === undefined)
    .map(({ key, position }) => ({ key: { ...key, revokedAtMs }, position }));
  return { account: { ...account, status: 'deleting' }, keys };
}

/** Statements of a change for one batch, on condition that the revision is unchanged. */
function statementsOf(stored: StoredAccount, decided: AccountChange): Statement[] {
  const { revision, account } = stored;
  const { id } = account;
  const changeTo = (columns: readonly unknown[]): Statement => {
    return { query: CHANGE, params: [revision + 1, ...columns, id, revision] };
  };
  if (decided === 'tombstone') {
    const drops = storedKeysOf(stored).map(({ position }) => {
      return { query: DROP_KEY, params: [id, position] };
    });
    return [changeTo(TOMBSTONE_COLUMNS), ...drops];
  }
  const { account: next, keys = [] } = decided;
  const puts = keys.map(({ key, position }) => {
    return { query: PUT_KEY, params: [id, position, ...keyColumns(key), ttlOf(key)] };
  });
  return [changeTo(accountColumns(next)), ...puts];
}

/**
 * TTL of a key's row, in seconds; 0 means no TTL. Every write uses the whole lifetime of the key,
 * even if the key is already old. The remaining lifetime would depend on a clock, which may be
 * wrong.
 */
function ttlOf({ createdAtMs, expiresAtMs }: ApiKeyRecord): number {
  if (expiresAtMs === undefined) return 0;
  const lifeMs = Math.max(0, expiresAtMs - createdAtMs) + EXPIRED_KEY_KEPT_MS;
  const lifeS = Math.ceil(lifeMs / 1_000);
  return lifeS <= TTL_S_MAX ? lifeS : 0;
}
