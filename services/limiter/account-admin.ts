import type {
  Account,
  AccountWithKeys,
  ApiKeyRecord,
  KeyScope,
  SetStatus,
} from '#accounts/account';
import { keyEndsAtMs } from '#accounts/account';
import { digestOf, formatApiKey, SECRET_LENGTH } from '#accounts/api-key';
import { limitsOf, type PlanChoice } from '#accounts/plan';
import type { Retention } from '#accounts/retention';
import { Fault } from '#fault/fault';
import { USABLE_KEYS_MAX } from '#limiter/bounds';
import type { Clock } from '#platform/clock';
import type { Randomness } from '#platform/randomness';
import type { AccountStore } from '#storage/account-store';
import type { MeterUsage } from '#wire/admin';

/** Characters of an account id and of a key id behind its prefix. Source: decision 41; interface 2.2. */
const ACCOUNT_ID_LENGTH = 12;
const KEY_ID_LENGTH = 16;

/**
 * Keeps accounts and their keys. Every change is stored and announced when its promise fulfils.
 * Rejects with `not_found` for an unknown account or key, and with `service_unavailable` when store
 * or meter cannot be reached: then the change may have been stored, and making it again is harmless
 * except for `createAccount` and `createKey`.
 */
export interface AccountAdmin {
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
  createKey(
    accountId: string,
    request: { scope: KeyScope; expiresAtMs?: number | undefined },
  ): Promise<{ key: string; record: ApiKeyRecord }>;
  listKeys(accountId: string): Promise<readonly ApiKeyRecord[]>;
  revokeKey(accountId: string, keyId: string): Promise<ApiKeyRecord>;
  usage(accountId: string): Promise<MeterUsage>;
  /**
   * Begins the present month, with nothing used, where the account's meter is in another one; else
   * changes nothing. Answers the usage as it then is.
   */
  resetUsage(accountId: string): Promise<MeterUsage>;
}

/** What administration needs: the store, the meters, time and randomness. */
type AccountAdminPorts = {
  readonly accounts: AccountStore;
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

  async function found(accountId: string): Promise<AccountWithKeys> {
    const record = await accounts.find(accountId);
    if (record === undefined) throw new Fault('not_found', 'there is no such account');
    return record;
  }

  async function announced<T>(accountId: string, change: Promise<T>): Promise<T> {
    const result = await change;
    await announce(accountId);
    return result;
  }

  return {
    async createAccount({ id = randomness.base62(ACCOUNT_ID_LENGTH), name, choice }) {
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

    async createKey(accountId, { scope, expiresAtMs }) {
      const createdAtMs = clock.wallMs();
      const { keys } = await found(accountId);
      if (keys.filter((key) => keyEndsAtMs(key) > createdAtMs).length >= USABLE_KEYS_MAX) {
        throw new Fault('conflict', `the account has ${USABLE_KEYS_MAX} usable keys; revoke one`);
      }
      const key = formatApiKey(accountId, randomness.base62(SECRET_LENGTH));
      const id = `key_${randomness.hex(KEY_ID_LENGTH)}`;
      const always = { id, digest: digestOf(key), scope, createdAtMs };
      const record = expiresAtMs === undefined ? always : { ...always, expiresAtMs };
      await announced(accountId, accounts.addKey(accountId, record));
      return { key, record };
    },

    listKeys: async (accountId) => (await found(accountId)).keys,

    revokeKey: (accountId, keyId) =>
      announced(accountId, accounts.revokeKey(accountId, keyId, clock.wallMs())),

    usage: async (accountId) => present(await ports.usage(accountId)),

    resetUsage: async (accountId) => present(await ports.resetUsage(accountId)),
  };
}

function planOf(choice: PlanChoice) {
  return { plan: choice.plan, limits: limitsOf(choice) };
}

function present(usage: MeterUsage | undefined): MeterUsage {
  if (usage === undefined) throw new Fault('not_found', 'there is no such account');
  return usage;
}
