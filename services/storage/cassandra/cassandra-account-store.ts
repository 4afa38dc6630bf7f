import {
  type Account,
  type AccountWithKeys,
  type ApiKeyRecord,
  EXPIRED_KEY_KEPT_MS,
  isKept,
  withModel,
} from '#accounts/account';
import { Fault } from '#fault/fault';
import type { Clock } from '#platform/clock';
import { ACCOUNTS_PAGE_MAX, type AccountStore } from '#storage/account-store';
import {
  accountColumns,
  accountFrom,
  keyColumns,
  keyFrom,
  SELECTED_COLUMNS,
} from '#storage/cassandra/account-rows';
import { conditionalAnswerOf } from '#storage/cassandra/conditional-answer';
import type { CassandraSession, Statement, StatementOptions } from '#storage/cassandra/session';

/** Tries of a change that others get in front of; administration is rarer than that. */
const TRIES_MAX = 8;

/** Accounts read at once for a listing. */
const READS_IN_FLIGHT_MAX = 16;

/** The longest that Cassandra takes, 20 years. The row of a key that lives longer has no end. */
const TTL_S_MAX = 630_720_000;

/** A conditional write goes through four round trips between servers. Milliseconds. */
const CHANGE_MS_MAX = 5_000;

const FIND = `SELECT ${SELECTED_COLUMNS} FROM accounts WHERE account_id = ?`;
const CREATE = `INSERT INTO accounts (account_id, revision, name, plan, status,
  requests_per_minute, cycles_per_month, instances, model_version, created_at_ms)
  VALUES (?, 0, ?, ?, ?, ?, ?, ?, ?, ?) IF NOT EXISTS`;
const CHANGE = `UPDATE accounts SET revision = ?, name = ?, plan = ?, status = ?,
  requests_per_minute = ?, cycles_per_month = ?, instances = ?, model_version = ?,
  created_at_ms = ?
  WHERE account_id = ? IF revision = ?`;
const PUT_KEY = `INSERT INTO accounts (account_id, key_position, key_id, digest, scope,
  key_created_at_ms, revoked_at_ms, expires_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?) USING TTL ?`;
// All ids lie in one bucket, in order.
const ADD_ID = 'INSERT INTO account_ids (bucket, account_id) VALUES (0, ?)';
const LIST_IDS = 'SELECT account_id FROM account_ids WHERE bucket = 0 AND account_id > ? LIMIT ?';

/** A key, and where in its partition it is. */
type PlacedKey = { readonly key: ApiKeyRecord; readonly position: number };

/** An account as it stands, and the revision that a change of it must find again. */
type Stored = {
  readonly revision: number;
  readonly account: Account;
  readonly kept: readonly PlacedKey[];
  /** Those that this process's clock takes for long expired, until a server drops them. */
  readonly passedOver: readonly PlacedKey[];
  /** Where the next key goes, behind those that are passed over as well. */
  readonly nextPosition: number;
};

/** What a change makes of an account: its new fields, or a key at a position. */
type Change = { readonly account: Account } | PlacedKey;

type AccountPorts = {
  readonly session: CassandraSession;
  readonly clock: Pick<Clock, 'wallMs'>;
};

/**
 * Accounts in Cassandra, one partition each, changed only under the condition that no other writer did.
 * A key's row lives at least as long as the key is kept, and a read passes over it from then on. Only
 * the servers drop a row, by a span that was fixed when its key was made: a process whose clock is
 * years ahead must not take keys away.
 */
export function cassandraAccountStore(
  session: CassandraSession,
  clock: Pick<Clock, 'wallMs'>,
): AccountStore {
  const ports = { session, clock };
  return {
    async create(account) {
      const { id } = account;
      // First, so that every account is listed; an id without an account is passed over.
      const options: StatementOptions = { kind: 'write', operation: 'account_id_write' };
      await session.execute(ADD_ID, [id], options);
      const isApplied = await conditional(session, [
        { query: CREATE, params: [id, ...accountColumns(account)] },
      ]);
      if (!isApplied) throw new Fault('conflict', 'there is an account with this id');
    },
    async find(accountId): Promise<AccountWithKeys | undefined> {
      const stored = await find(ports, accountId);
      return stored && { account: stored.account, keys: stored.kept.map(({ key }) => key) };
    },
    list: ({ afterId, limit }) => list(ports, afterId ?? '', Math.min(limit, ACCOUNTS_PAGE_MAX)),
    setPlan: (accountId, plan, limits) =>
      changed(ports, accountId, ({ account }) => ({ ...account, plan, limits })),
    setModel: (accountId, chosen) =>
      changed(ports, accountId, ({ account }) =>
        account.modelVersion === chosen ? account : withModel(account, chosen),
      ),
    setStatus: (accountId, status) =>
      changed(ports, accountId, ({ account }) =>
        account.status === status ? account : { ...account, status },
      ),
    async addKey(accountId, key) {
      await change(ports, accountId, ({ kept, nextPosition }) => {
        if (kept.some(({ key: { id, digest } }) => id === key.id || digest === key.digest)) {
          throw new Fault('conflict', 'the account has this key already');
        }
        return { key, position: nextPosition };
      });
    },
    async revokeKey(accountId, keyId, revokedAtMs) {
      let revoked: ApiKeyRecord | undefined;
      await change(ports, accountId, ({ kept, passedOver }) => {
        const found = [...kept, ...passedOver].find(({ key }) => key.id === keyId);
        if (found === undefined) throw new Fault('not_found', 'the account has no such key');
        const { key, position } = found;
        revoked = { ...key, revokedAtMs: key.revokedAtMs ?? revokedAtMs };
        return key.revokedAtMs === undefined ? { key: revoked, position } : undefined;
      });
      if (revoked === undefined) throw new Error('a change is decided before it is made');
      return revoked;
    },
  };
}

async function find(
  { session, clock }: AccountPorts,
  accountId: string,
): Promise<Stored | undefined> {
  const options: StatementOptions = { kind: 'read', operation: 'account_read' };
  const kept: PlacedKey[] = [];
  const passedOver: PlacedKey[] = [];
  const nowMs = clock.wallMs();
  let stored: Stored | undefined;
  for await (const page of session.pages(FIND, [accountId], options)) {
    for (const row of page) {
      // The order of keys is their age, and the rows of some may be gone: behind the last one.
      const nextPosition = (row['key_position'] ?? -1) + 1;
      const account = stored?.account ?? accountFrom(row);
      stored = { revision: row['revision'], account, kept, passedOver, nextPosition };
      // An account without keys is one row with nothing but the columns all share.
      if (row['key_id'] === null) continue;
      const key = keyFrom(row);
      const place = isKept(key, nowMs) ? kept : passedOver;
      place.push({ key, position: row['key_position'] });
    }
  }
  return stored;
}

async function list(ports: AccountPorts, afterId: string, limit: number): Promise<Account[]> {
  const accounts: Account[] = [];
  let after = afterId;
  while (accounts.length < limit) {
    const wanted = limit - accounts.length;
    const options: StatementOptions = { kind: 'read', operation: 'account_ids_read' };
    const { rows } = await ports.session.execute(LIST_IDS, [after, wanted], options);
    const ids = rows.map((row): string => row['account_id']);
    accounts.push(...(await findAll(ports, ids)));
    const last = ids.at(-1);
    if (last === undefined || ids.length < wanted) break;
    after = last;
  }
  return accounts;
}

/** The accounts with these ids, in their order, without those that were never created. */
async function findAll(ports: AccountPorts, ids: readonly string[]): Promise<Account[]> {
  const found: (Account | undefined)[] = [];
  const entries = ids.entries();
  const worker = async (): Promise<void> => {
    for (const [index, id] of entries) found[index] = (await find(ports, id))?.account;
  };
  await Promise.all(Array.from({ length: READS_IN_FLIGHT_MAX }, worker));
  return found.filter((account) => account !== undefined);
}

async function changed(
  ports: AccountPorts,
  accountId: string,
  next: (stored: Stored) => Account,
): Promise<Account> {
  let account: Account | undefined;
  await change(ports, accountId, (stored) => {
    account = next(stored);
    return account === stored.account ? undefined : { account };
  });
  if (account === undefined) throw new Error('a change is decided before it is made');
  return account;
}

/** Reads, decides and writes, again until no other writer came in between. */
async function change(
  ports: AccountPorts,
  accountId: string,
  decide: (stored: Stored) => Change | undefined,
): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const stored = await find(ports, accountId);
    if (stored === undefined) throw new Fault('not_found', 'there is no such account');
    const decided = decide(stored);
    if (decided === undefined) return;
    const statements = statementsOf(stored, decided);
    if (await conditional(ports.session, statements)) return;
  }
  throw new Fault('service_unavailable', 'the account is being changed by others', {
    retryAfterS: 1,
  });
}

function statementsOf(stored: Stored, decided: Change): Statement[] {
  const { account, revision } = stored;
  const next = 'account' in decided ? decided.account : account;
  const params = [revision + 1, ...accountColumns(next), account.id, revision];
  const always = { query: CHANGE, params };
  if ('account' in decided) return [always];
  const { key, position } = decided;
  const columns = [account.id, position, ...keyColumns(key)];
  return [always, { query: PUT_KEY, params: [...columns, ttlOf(key)] }];
}

/**
 * Seconds after which the server drops a key's row by itself; 0: never. By the whole life of the key,
 * also when its row is written again: what is left of it only a clock could say, which may be wrong.
 */
function ttlOf({ createdAtMs, expiresAtMs }: ApiKeyRecord): number {
  if (expiresAtMs === undefined) return 0;
  const lifeMs = Math.max(0, expiresAtMs - createdAtMs) + EXPIRED_KEY_KEPT_MS;
  const lifeS = Math.ceil(lifeMs / 1_000);
  return lifeS <= TTL_S_MAX ? lifeS : 0;
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
