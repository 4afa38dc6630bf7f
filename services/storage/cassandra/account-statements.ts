import { type Account, type ApiKeyRecord, EXPIRED_KEY_KEPT_MS } from '#accounts/account';
import { newOnes } from '#storage/account-changes';
import {
  accountColumns,
  KEY_COLUMNS,
  keyColumns,
  TOMBSTONE_COLUMNS,
} from '#storage/cassandra/account-rows';
import type { Statement } from '#storage/cassandra/session';

/** The longest that Cassandra takes, 20 years. The row of a key that lives longer has no end. */
const TTL_S_MAX = 630_720_000;

const CHANGE = `UPDATE accounts SET revision = ?, name = ?, plan = ?, status = ?,
  requests_per_minute = ?, cycles_per_month = ?, instances = ?, model_version = ?,
  retention_days = ?, created_at_ms = ?, next_plan = ?, next_plan_from = ?,
  next_requests_per_minute = ?, next_cycles_per_month = ?, next_instances = ?, next_plan_at_ms = ?
  WHERE account_id = ? IF revision = ?`;
const PUT_KEY = `INSERT INTO accounts (account_id, key_position, ${KEY_COLUMNS})
  VALUES (?, ?, ${KEY_COLUMNS.split(',').map(() => '?')}) USING TTL ?`;
const DROP_KEY = 'DELETE FROM accounts WHERE account_id = ? AND key_position = ?';

/** A key, and where in its partition it is. */
export type PlacedKey = { readonly key: ApiKeyRecord; readonly position: number };

/** An account as it stands, and the revision that a change of it must find again. */
export type StoredAccount = {
  readonly revision: number;
  readonly account: Account;
  /** Whether only its id is left. */
  readonly isDeleted: boolean;
  readonly kept: readonly PlacedKey[];
  /** Those that this process's clock takes for long expired, until a server drops them. */
  readonly passedOver: readonly PlacedKey[];
  /** Where the next key goes, behind those that are passed over as well. */
  readonly nextPosition: number;
};

/**
 * What a change makes of an account: its fields, keys at their positions, or nothing but its id.
 */
export type AccountChange =
  | { readonly account: Account; readonly keys?: readonly PlacedKey[] }
  | 'tombstone';

/** Every key that is stored, oldest first. */
export function storedKeysOf({ kept, passedOver }: StoredAccount): readonly PlacedKey[] {
  return [...kept, ...passedOver].toSorted((one, other) => one.position - other.position);
}

/**
 * Keys that are put, those of a known id in their place and new ones behind all others. Throws
 * `conflict` as `AccountStore.changeKeys`.
 */
export function placedKeys(
  stored: StoredAccount,
  put: readonly ApiKeyRecord[],
): readonly PlacedKey[] {
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
 * What the deletion of an account begins with: its keys are revoked. Undefined where it has begun:
 * then they are, and none was added since.
 */
export function deletionOf(stored: StoredAccount, revokedAtMs: number): AccountChange | undefined {
  const { account } = stored;
  if (account.status === 'deleting') return undefined;
  const keys = storedKeysOf(stored)
    .filter(({ key }) => key.revokedAtMs === undefined)
    .map(({ key, position }) => ({ key: { ...key, revokedAtMs }, position }));
  return { account: { ...account, status: 'deleting' }, keys };
}

/** A change as one batch, under the condition that the account is as it was read. */
export function statementsOf(stored: StoredAccount, decided: AccountChange): Statement[] {
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
 * Seconds after which the server drops a key's row by itself; 0: never. By the whole life of the
 * key, also when its row is written again: what is left of it only a clock could say, which may be
 * wrong.
 */
function ttlOf({ createdAtMs, expiresAtMs }: ApiKeyRecord): number {
  if (expiresAtMs === undefined) return 0;
  const lifeMs = Math.max(0, expiresAtMs - createdAtMs) + EXPIRED_KEY_KEPT_MS;
  const lifeS = Math.ceil(lifeMs / 1_000);
  return lifeS <= TTL_S_MAX ? lifeS : 0;
}
