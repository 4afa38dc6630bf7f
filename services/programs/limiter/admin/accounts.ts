import type { Account, AccountWithKeys, ApiKeyRecord, Creator, SetStatus } from '#accounts/account';
import { digestOf, formatApiKey, hintOf, type KeyScope, SECRET_LENGTH } from '#accounts/api-key';
import { limitsOf, type PlanChoice, type Retention } from '#accounts/plan';
import { Fault, invalid } from '#errors/fault';
import type { MeterUsage, MonthUsage } from '#grpc/admin';
import {
  type Rotation,
  withDisabled,
  withEnabled,
  withKey,
  withName,
  withRevoked,
  withRotated,
  withScope,
} from '#limiter/keys/changes';
import { monthsOf } from '#limiter/meter/month-quota';
import type { Clock } from '#stdlib/clock';
import type { Randomness } from '#stdlib/randomness';
import type { AccountStore, KeyChange, KeyUse, KeyUseStore } from '#storage/ports/accounts';
import type { MonthStore } from '#storage/ports/meters';

/** Length of an account id, in characters. Source: decision 41 (key format); interface 2.2. */
const ACCOUNT_ID_LENGTH = 12;
/** Length of a key id after its prefix, in characters. Source: interface 2.2. */
const KEY_ID_LENGTH = 16;

/**
 * Administers accounts and their keys. When a promise resolves, the change is stored and announced.
 * Rejects with `not_found` for an unknown account or key, and with `service_unavailable` if store
 * or meter cannot be reached. After `service_unavailable` the change may have been stored. Retries
 * are safe, except for `createAccount`, `createKey` and `rotateKey`.
 */
export interface AccountAdmin {
  /** Generates a random account id. */
  newAccountId(): string;
  /** An account with its keys; undefined if the account does not exist. */
  find(accountId: string): Promise<AccountWithKeys | undefined>;
  /** Creates an account; `id`: default random. Rejects with `conflict` if the id exists. */
  createAccount(request: { id?: string; name: string; choice: PlanChoice }): Promise<Account>;
  listAccounts(page: { afterId: string | undefined; limit: number }): Promise<Account[]>;
  /** Sets the account's plan. `later` schedules a further plan change. */
  setPlan(
    accountId: string,
    choice: PlanChoice,
    later?: { readonly choice: PlanChoice; readonly atMs: number },
  ): Promise<Account>;
  setStatus(accountId: string, status: SetStatus): Promise<Account>;
  /** Selects the model for the account's instances; undefined removes the selection. */
  setModel(accountId: string, modelVersion: string | undefined): Promise<Account>;
  /** Sets the account's own retention; undefined restores the plan's retention. */
  setRetention(accountId: string, own: Retention | undefined): Promise<Account>;
  /**
   * Creates a key. Only this answer contains the key, because the store has only the digest.
   * Rejects with `conflict` if the account has the maximum number of usable keys.
   */
  createKey(accountId: string, request: KeyRequest): Promise<NewKey>;
  /** All the account's keys with their last use, oldest first. */
  listKeys(accountId: string): Promise<readonly UsedKey[]>;
  renameKey(accountId: string, keyId: string, name: string): Promise<ApiKeyRecord>;
  /** Changes a key's scope. Rejects with `conflict` if the key is revoked or expired. */
  setKeyScope(accountId: string, keyId: string, scope: KeyScope): Promise<ApiKeyRecord>;
  /**
   * Replaces a key by a new key. The old key remains usable for `graceMs`. Rejects like
   * `withRotated`.
   */
  rotateKey(
    accountId: string,
    keyId: string,
    graceMs: number,
    createdBy?: Creator,
  ): Promise<NewKey & Rotated>;
  /** Disables a key until `enableKey`. Rejects with `conflict` if the key is revoked or expired. */
  disableKey(accountId: string, keyId: string): Promise<ApiKeyRecord>;
  /** Enables a disabled key. Rejects like `disableKey`. */
  enableKey(accountId: string, keyId: string): Promise<ApiKeyRecord>;
  revokeKey(accountId: string, keyId: string): Promise<ApiKeyRecord>;
  usage(accountId: string): Promise<MeterUsage>;
  /** Usage in the present month and the last twelve finished months, newest first. */
  months(accountId: string): Promise<readonly MonthUsage[]>;
  /**
   * If the account's meter is in another month, begins the present month without usage. Otherwise
   * changes nothing. Resolves with the resulting usage.
   */
  resetUsage(accountId: string): Promise<MeterUsage>;
}

/** New key properties. Source: decision 242. */
type KeyRequest = {
  readonly name?: string | undefined;
  readonly scope: KeyScope;
  readonly expiresAtMs?: number | undefined;
  /** In `networkText` format; empty: any address. */
  readonly networks?: readonly string[] | undefined;
  /** Creator of the key. Undefined: the service itself is the creator. */
  readonly createdBy?: Creator | undefined;
};

/** A new key with its secret. Only the creating call returns the secret. */
type NewKey = { readonly key: string; readonly record: ApiKeyRecord };

/** The key replaced by a rotation, as stored after the rotation. */
type Rotated = { readonly replaced: ApiKeyRecord };

/** A key with its last recorded use, if any. */
export type UsedKey = { readonly record: ApiKeyRecord; readonly lastUse: KeyUse | undefined };

/** Ports for account administration: stores, meters, time and randomness. */
type AccountAdminPorts = {
  readonly accounts: AccountStore;
  readonly keyUses: Pick<KeyUseStore, 'find'>;
  readonly months: MonthStore;
  readonly clock: Clock;
  readonly randomness: Randomness;
  /** Announces a changed account to all processes that cache accounts. */
  readonly announce: (accountId: string) => Promise<void>;
  readonly usage: (accountId: string) => Promise<MeterUsage | undefined>;
  readonly resetUsage: (accountId: string) => Promise<MeterUsage | undefined>;
};

/** Administers all accounts in a store. */
export function accountAdmin(ports: AccountAdminPorts): AccountAdmin {
  const { accounts, clock, randomness, announce } = ports;

  async function announced<T>(accountId: string, change: Promise<T>): Promise<T> {
    const result = await change;
    await announce(accountId);
    return result;
  }

  const newAccountId = () => randomness.base62(ACCOUNT_ID_LENGTH);

  return {
    newAccountId,
    find: (accountId) => accounts.find(accountId),

    async createAccount({ id = newAccountId(), name, choice }) {
      const { plan } = choice;
      const createdAtMs = clock.wallMs();
      const limits = limitsOf(choice);
      const account: Account = { id, name, plan, status: 'active', limits, createdAtMs };
      await accounts.create(account);
      return account;
    },

    listAccounts: (page) => accounts.list(page),

    setPlan(accountId, choice, later) {
      const next = later && { ...planOf(later.choice), atMs: later.atMs };
      return announced(accountId, accounts.setPlan(accountId, { ...planOf(choice), later: next }));
    },

    setStatus: (accountId, status) => announced(accountId, accounts.setStatus(accountId, status)),

    setRetention: (accountId, own) => announced(accountId, accounts.setRetention(accountId, own)),

    setModel: (accountId, version) => announced(accountId, accounts.setModel(accountId, version)),

    ...keyAdmin(ports, announced),

    usage: async (accountId) => present(await ports.usage(accountId)),

    async months(accountId) {
      // Read usage first: a finished month leaves the meter only after the month is stored.
      const usage = present(await ports.usage(accountId));
      return monthsOf(usage, await ports.months.readMonths(accountId));
    },

    resetUsage: async (accountId) => present(await ports.resetUsage(accountId)),
  };
}

/** Awaits a change, announces the account, and returns the change's result. */
type Announced = <T>(accountId: string, change: Promise<T>) => Promise<T>;

/** Administers API keys. Each change is stored, then announced. */
export type KeyAdmin = Pick<
  AccountAdmin,
  | 'createKey'
  | 'listKeys'
  | 'renameKey'
  | 'setKeyScope'
  | 'rotateKey'
  | 'disableKey'
  | 'enableKey'
  | 'revokeKey'
>;

/** Builds key administration. */
function keyAdmin(
  { accounts, keyUses, clock, randomness }: AccountAdminPorts,
  announced: Announced,
): KeyAdmin {
  type Decide<T> = (keys: readonly ApiKeyRecord[], nowMs: number) => KeyChange<T>;
  const change = <T>(accountId: string, decide: Decide<T>): Promise<T> =>
    announced(
      accountId,
      accounts.changeKeys(accountId, (keys) => decide(keys, clock.wallMs())),
    );

  const newKey = (accountId: string) => {
    const key = formatApiKey(accountId, randomness.base62(SECRET_LENGTH));
    const id = `key_${randomness.hex(KEY_ID_LENGTH)}`;
    return { key, fresh: { id, digest: digestOf(key), hint: hintOf(key) } };
  };

  return {
    async createKey(accountId, { name, scope, expiresAtMs, networks = [], createdBy }) {
      const createdAtMs = clock.wallMs();
      if (expiresAtMs !== undefined && expiresAtMs <= createdAtMs) {
        throw invalid('out_of_range', 'expires_at', 'expires_at: must be a time in the future');
      }
      const { key, fresh } = newKey(accountId);
      const record: ApiKeyRecord = {
        ...fresh,
        scope,
        createdAtMs,
        ...(name === undefined ? {} : { name }),
        ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
        ...(networks.length === 0 ? {} : { networks }),
        ...(createdBy === undefined ? {} : { createdBy }),
      };
      await change(accountId, (keys, nowMs) => withKey(keys, record, nowMs));
      return { key, record };
    },

    async listKeys(accountId) {
      const [found, uses] = await Promise.all([accounts.find(accountId), keyUses.find(accountId)]);
      if (found === undefined) throw new Fault('not_found', 'there is no such account');
      const byDigest = new Map(uses.map((use) => [use.digest, use]));
      return found.keys.map((record) => ({ record, lastUse: byDigest.get(record.digest) }));
    },

    renameKey: (accountId, keyId, name) => change(accountId, (keys) => withName(keys, keyId, name)),

    setKeyScope: (accountId, keyId, scope) =>
      change(accountId, (keys, nowMs) => withScope(keys, keyId, scope, nowMs)),

    async rotateKey(accountId, keyId, graceMs, createdBy) {
      const { key, fresh } = newKey(accountId);
      const by = createdBy === undefined ? {} : { createdBy };
      const { made, replaced } = await change<Rotation>(accountId, (keys, nowMs) =>
        withRotated(keys, keyId, { ...fresh, ...by }, { graceMs, nowMs }),
      );
      return { key, record: made, replaced };
    },

    disableKey: (accountId, keyId) =>
      change(accountId, (keys, nowMs) => withDisabled(keys, keyId, nowMs)),

    enableKey: (accountId, keyId) =>
      change(accountId, (keys, nowMs) => withEnabled(keys, keyId, nowMs)),

    revokeKey: (accountId, keyId) =>
      change(accountId, (keys, nowMs) => withRevoked(keys, keyId, nowMs)),
  };
}

function planOf(choice: PlanChoice) {
  return { plan: choice.plan, limits: limitsOf(choice) };
}

function present(usage: MeterUsage | undefined): MeterUsage {
  if (usage === undefined) throw new Fault('not_found', 'there is no such account');
  return usage;
}
