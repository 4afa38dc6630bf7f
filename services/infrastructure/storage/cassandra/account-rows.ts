import { types } from 'cassandra-driver';
import { type Account, type ApiKeyRecord, creatorFrom, creatorText } from '#accounts/account';
import { INSTANCES_OF, type Plan, type PlanChange } from '#accounts/plan';
import { defined } from '#stdlib/defined';
import type { CassandraSession, StatementOptions } from '#storage/cassandra/session';
import type { KeyUse, KeyUseStore } from '#storage/ports/accounts';

/** Column value for the retention `none`. All other values are at least 1. */
const FOR_EVER_DAYS = 0;

/** Columns of a key, in the order of `keyColumns`. */
export const KEY_COLUMNS = `key_id, digest, scope, key_created_at_ms, revoked_at_ms, expires_at_ms,
  key_name, key_hint, key_networks, replaced_by, disabled_at_ms, limited_scope, created_by`;

/** The columns that `accountFrom` and `keyFrom` read, and the revision. */
export const SELECTED_COLUMNS = `account_id, revision, name, plan, status, requests_per_minute,
  cycles_per_month, instances, model_version, retention_days, created_at_ms, next_plan,
  next_plan_from, next_requests_per_minute, next_cycles_per_month, next_instances,
  next_plan_at_ms, key_position, ${KEY_COLUMNS}`;

/**
 * Values of an account for statements: name, plan, status, the three limits, model, retention,
 * creation time, and then the next plan.
 */
export function accountColumns(account: Account): unknown[] {
  const { name, plan, status, limits, modelVersion = null, retention, createdAtMs } = account;
  const { requestsPerMinute, cyclesPerMonth, instances } = limits;
  const numbers = [requestsPerMinute, cyclesPerMonth, instances];
  const days = retention === 'none' ? FOR_EVER_DAYS : (retention ?? null);
  return [
    ...[name, plan, status, ...numbers.map(BigInt), modelVersion, days, BigInt(createdAtMs)],
    ...planChangeColumns(account.planChange),
  ];
}

function planChangeColumns(change: PlanChange | undefined): unknown[] {
  if (change === undefined) return [null, null, null, null, null, null];
  const { requestsPerMinute, cyclesPerMonth, instances } = change.limits;
  const numbers = [requestsPerMinute, cyclesPerMonth, instances, change.atMs];
  return [change.plan, change.from, ...numbers.map(BigInt)];
}

/** Status of a deleted account. Only its id is left. */
export const TOMBSTONE_STATUS = 'deleted';

/** Column values for a deleted account, in the order of `accountColumns`. */
export const TOMBSTONE_COLUMNS: readonly unknown[] = [
  ...['', 'free', TOMBSTONE_STATUS],
  ...[0n, 0n, 0n],
  ...[null, null, 0n],
  ...planChangeColumns(undefined),
];

/** Reads the account from a row of its partition. */
export function accountFrom(row: types.Row): Account {
  const modelVersion: string | null = row['model_version'];
  const days: number | null = row['retention_days'];
  return {
    id: row['account_id'],
    name: row['name'],
    plan: row['plan'],
    status: row['status'],
    limits: {
      requestsPerMinute: Number(row['requests_per_minute']),
      cyclesPerMonth: Number(row['cycles_per_month']),
      instances: instancesOf(row),
    },
    ...(modelVersion === null ? {} : { modelVersion }),
    ...(days === null ? {} : { retention: days === FOR_EVER_DAYS ? 'none' : days }),
    ...planChangeFrom(row),
    createdAtMs: Number(row['created_at_ms']),
  };
}

function planChangeFrom(row: types.Row): Pick<Account, 'planChange'> {
  const plan: Plan | null = row['next_plan'];
  if (plan === null) return {};
  const limits = {
    requestsPerMinute: Number(row['next_requests_per_minute']),
    cyclesPerMonth: Number(row['next_cycles_per_month']),
    instances: Number(row['next_instances']),
  };
  const atMs = Number(row['next_plan_at_ms']);
  return { planChange: { plan, limits, atMs, from: row['next_plan_from'] } };
}

/** Instance limit of an account. A row without a number has the limit of its plan. */
function instancesOf(row: types.Row): number {
  const instances: bigint | null = row['instances'];
  return instances === null ? INSTANCES_OF[row['plan'] as Plan] : Number(instances);
}

/**
 * Value of the column `scope` while a key may do less than its scope allows. Programs of release
 * 1.0 refuse keys with an unknown scope. Source: decisions 240 and 242.
 */
const LIMITED_SCOPE = 'limited';

/**
 * Values of a key for statements. Null clears a column that may have had a value. Undefined leaves
 * a column unset, for columns that can never have had a value.
 */
export function keyColumns(key: ApiKeyRecord): unknown[] {
  const { id, digest, scope, name, hint, networks, replacedBy, disabledAtMs = null } = key;
  const { createdBy } = key;
  const times = [key.createdAtMs, key.revokedAtMs, key.expiresAtMs];
  const isLimited = disabledAtMs !== null || networks !== undefined;
  return [
    ...[id, digest, isLimited ? LIMITED_SCOPE : scope],
    ...times.map(bigintOf),
    ...[name, hint, networks, replacedBy],
    disabledAtMs === null ? null : BigInt(disabledAtMs),
    isLimited ? scope : null,
    createdBy && creatorText(createdBy),
  ];
}

/** Reads a key from a row. A column without a value is null. */
export function keyFrom(row: types.Row): ApiKeyRecord {
  const text = (column: string): string | undefined => row[column] ?? undefined;
  const time = (column: string): number | undefined => {
    const value: bigint | null = row[column];
    return value === null ? undefined : Number(value);
  };
  const networks: readonly string[] | null = row['key_networks'];
  return defined<ApiKeyRecord>({
    id: row['key_id'],
    digest: row['digest'],
    scope: row['limited_scope'] ?? row['scope'],
    createdAtMs: Number(row['key_created_at_ms']),
    revokedAtMs: time('revoked_at_ms'),
    expiresAtMs: time('expires_at_ms'),
    name: text('key_name'),
    hint: text('key_hint'),
    networks: networks ?? undefined,
    disabledAtMs: time('disabled_at_ms'),
    replacedBy: text('replaced_by'),
    createdBy: creatorFrom(text('created_by')),
  });
}

/** Converts a number. Undefined stays undefined, so that the driver leaves the column unset. */
function bigintOf(value: number | undefined): bigint | undefined {
  return value === undefined ? undefined : BigInt(value);
}

const FIND = 'SELECT digest, minute, caller FROM key_uses WHERE account_id = ?';
const NOTE = `INSERT INTO key_uses (account_id, digest, minute, caller) VALUES (?, ?, ?, ?)
  USING TIMESTAMP ?`;
const ERASE = 'DELETE FROM key_uses USING TIMESTAMP ? WHERE account_id = ?';

/** Timestamp later than every minute. */
const LAST_MINUTE = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * Last use of each API key, in Cassandra. The timestamp of a write is its minute, so the later
 * minute wins.
 */
export function cassandraKeyUseStore(session: CassandraSession): KeyUseStore {
  return {
    async note(accountId, { digest, minute, address = null, client = null }) {
      const options: StatementOptions = { kind: 'write', operation: 'key_use_write' };
      const version = BigInt(minute);
      const caller = new types.Tuple(address, client);
      await session.execute(NOTE, [accountId, digest, version, caller, version], options);
    },
    async find(accountId) {
      const options: StatementOptions = { kind: 'read', operation: 'key_use_read' };
      const uses: KeyUse[] = [];
      for await (const page of session.pages(FIND, [accountId], options)) {
        uses.push(...page.map(useFrom));
      }
      return uses;
    },
    async erase(accountId) {
      const options: StatementOptions = { kind: 'write', operation: 'key_use_erase' };
      await session.execute(ERASE, [LAST_MINUTE, accountId], options);
    },
  };
}

function useFrom(row: types.Row): KeyUse {
  const caller: types.Tuple = row['caller'];
  const part = (index: number): string | undefined => caller.get(index) ?? undefined;
  return {
    digest: row['digest'],
    minute: Number(row['minute']),
    address: part(0),
    client: part(1),
  };
}
