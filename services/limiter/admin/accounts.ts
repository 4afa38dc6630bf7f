import type { Account, AccountWithKeys, ApiKeyRecord, Creator, SetStatus } from '#accounts/account';
import { digestOf, formatApiKey, hintOf, type KeyScope, SECRET_LENGTH } from '#accounts/api-key';
import { limitsOf, type PlanChoice, type Retention } from '#accounts/plan';
import { Fault, invalid } from '#fault/fault';
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
import { monthsOf } from '#limiter/meter/month-usage';
import type { Clock } from '#platform/clock';
import type { Randomness } from '#platform/randomness';
import type { AccountStore, KeyChange, KeyUse, KeyUseStore } from '#storage/ports/accounts';
import type { MonthStore } from '#storage/ports/meters';
import type { MeterUsage, MonthUsage } from '#wire/admin';

/** Characters of an account id and of a key id behind its prefix. Source: decision 41; interface 2.2. */
const ACCOUNT_ID_LENGTH = 12;
const KEY_ID_LENGTH = 16;

/**
 * Keeps accounts and their keys. Every change is stored and announced when its promise fulfils.
 * Rejects with `not_found` for an unknown account or key, and with `service_unavailable` when store
 * or meter cannot be reached: then the change may have been stored, and making it again is harmless
 * except for `createAccount`, `createKey` and `rotateKey`.
 */
export interface AccountAdmin {
  /** An id that no account has. */
  newAccountId(): string;
  /** An account with its keys; undefined: there is none. */
  find(accountId: string): Promise<AccountWithKeys | undefined>;
  /** `id`: instead of a random one; rejects with `conflict` if there is an account with it. */
  createAccount(request: { id?: string; name: string; choice: PlanChoice }): Promise<Account>;
  listAccounts(page: { afterId: string | undefined; limit: number }): Promise<Account[]>;
  /** Gives the account a plan; with `later`, and another one at a time. */
  setPlan(
    accountId: string,
    choice: PlanChoice,
    later?: { readonly choice: PlanChoice; readonly atMs: number },
  ): Promise<Account>;
  setStatus(accountId: string, status: SetStatus): Promise<Account>;
  /** Chooses the model of the account's instances; undefined: none. */
  setModel(accountId: string, modelVersion: string | undefined): Promise<Account>;
  /** Gives the account a retention of its own; undefined: that of its plan. */
  setRetention(accountId: string, own: Retention | undefined): Promise<Account>;
  /**
   * Makes a key and answers it this once: it cannot be derived from what is kept.
   * Rejects with `conflict` if the account has as many usable keys as it may have.
   */
  createKey(accountId: string, request: KeyRequest): Promise<NewKey>;
  /** Every key of the account with its last use, oldest first. */
  listKeys(accountId: string): Promise<readonly UsedKey[]>;
  renameKey(accountId: string, keyId: string, name: string): Promise<ApiKeyRecord>;
  /** Gives a key another scope. Rejects with `conflict` if the key has come to its end. */
  setKeyScope(accountId: string, keyId: string, scope: KeyScope): Promise<ApiKeyRecord>;
  /**
   * Makes a key that takes the place of another one, which is let in for `graceMs` more: see
   * `withRotated`, also for what is refused with `conflict`.
   */
  rotateKey(
    accountId: string,
    keyId: string,
    graceMs: number,
    createdBy?: Creator,
  ): Promise<NewKey & Rotated>;
  /** Has a key refused until it is enabled. Rejects with `conflict` if it has come to its end. */
  disableKey(accountId: string, keyId: string): Promise<ApiKeyRecord>;
  /** Rejects as `disableKey`. */
  enableKey(accountId: string, keyId: string): Promise<ApiKeyRecord>;
  revokeKey(accountId: string, keyId: string): Promise<ApiKeyRecord>;
  usage(accountId: string): Promise<MeterUsage>;
  /** What was used in the present month and in the last twelve that are over, newest first. */
  months(accountId: string): Promise<readonly MonthUsage[]>;
  /**
   * Begins the present month, with nothing used, where the account's meter is in another one; else
   * changes nothing. Answers the usage as it then is.
   */
  resetUsage(accountId: string): Promise<MeterUsage>;
}

/** What a key shall be. Source: decision 242. */
type KeyRequest = {
  readonly name?: string | undefined;
  readonly scope: KeyScope;
  readonly expiresAtMs?: number | undefined;
  /** As `networkText` writes them; empty: anywhere. */
  readonly networks?: readonly string[] | undefined;
  /** Undefined: the service itself. */
  readonly createdBy?: Creator | undefined;
};

/** A key that has just been made, with its secret, this once. */
type NewKey = { readonly key: string; readonly record: ApiKeyRecord };

/** The key that a rotation replaced, as it is now. */
type Rotated = { readonly replaced: ApiKeyRecord };

/** A key and its last use, as far as is known. */
export type UsedKey = { readonly record: ApiKeyRecord; readonly lastUse: KeyUse | undefined };

/** What administration needs: the store, the meters, time and randomness. */
type AccountAdminPorts = {
  readonly accounts: AccountStore;
  readonly keyUses: Pick<KeyUseStore, 'find'>;
  readonly months: MonthStore;
  readonly clock: Clock;
  readonly randomness: Randomness;
  /** Announces to all who cache the account that it has changed. */
  readonly announce: (accountId: string) => Promise<void>;
  readonly usage: (accountId: string) => Promise<MeterUsage | undefined>;
  readonly resetUsage: (accountId: string) => Promise<MeterUsage | undefined>;
};

/** Administration of the accounts in one store. */
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
      // In this order: what a meter has not to keep any more is stored.
      const usage = present(await ports.usage(accountId));
      return monthsOf(usage, await ports.months.readMonths(accountId));
    },

    resetUsage: async (accountId) => present(await ports.resetUsage(accountId)),
  };
}

/** Fulfils with what a change answers, once it is announced. */
type Announced = <T>(accountId: string, change: Promise<T>) => Promise<T>;

/** What administrators do with API keys; each change is announced when it is stored. */
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

/** Administration of the keys of accounts. */
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
