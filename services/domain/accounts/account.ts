import type { KeyScope } from '#accounts/api-key';
import type { Limits, Plan, PlanChange, Retention } from '#accounts/plan';

/** Status that an operator can set. Calls of a suspended account are answered 403. */
export type SetStatus = 'active' | 'suspended';

/**
 * Status of an account. Only an active account admits calls. `importing`: an import is still
 * writing the account's data; `deleting`: the account has no usable key (decisions 232 and 233).
 */
type AccountStatus = SetStatus | 'importing' | 'deleting';

/** Owner of instances and subject of billing. Source: interface 5, 8.1. */
export type Account = {
  /** 12 base62 characters, part of every key of the account (decision 41). */
  readonly id: string;
  readonly name: string;
  readonly plan: Plan;
  readonly status: AccountStatus;
  readonly limits: Limits;
  /** Scheduled change of plan; absent: none is scheduled (decision 300). */
  readonly planChange?: PlanChange;
  /** Model selected for the account's instances; absent: none (decision 238). */
  readonly modelVersion?: string;
  /**
   * The account's own retention, which overrides the plan's; absent: the plan's applies
   * (decision 234).
   */
  readonly retention?: Retention;
  readonly createdAtMs: number;
};

/** The account with the selected model; `chosen` undefined removes the selection. */
export function withModel(
  { modelVersion: _, ...account }: Account,
  chosen: string | undefined,
): Account {
  return chosen === undefined ? account : { ...account, modelVersion: chosen };
}

/** The account with its own retention; `own` undefined restores the plan's retention. */
export function withRetention(
  { retention: _, ...account }: Account,
  own: Retention | undefined,
): Account {
  return own === undefined ? account : { ...account, retention: own };
}

/** An API key as stored. The record does not allow anyone to use the key. Source: interface 5.3. */
export type ApiKeyRecord = {
  /** `key_` and 16 hexadecimal characters. Identifies the key without revealing it. */
  readonly id: string;
  /** SHA-256 of the whole key, base64url. */
  readonly digest: string;
  readonly scope: KeyScope;
  readonly createdAtMs: number;
  readonly revokedAtMs?: number;
  readonly expiresAtMs?: number;
  /** Name for people; absent: the key has none. */
  readonly name?: string;
  /** The last 4 characters of the secret (`hintOf`); absent: an older release created the key. */
  readonly hint?: string;
  /**
   * Networks that calls may come from, in CIDR notation as `networkText` writes them; absent: any.
   */
  readonly networks?: readonly string[];
  /** Unix milliseconds of disabling; absent: the key is not disabled. */
  readonly disabledAtMs?: number;
  /** Id of the key that a rotation created as replacement. */
  readonly replacedBy?: string;
  /** Creator of the key; absent: an older release created the key without recording this. */
  readonly createdBy?: Creator;
};

/**
 * Maximum number of networks per key. Each costs an admission 0.1 µs; reading the address costs 2
 * µs.
 */
export const KEY_NETWORKS_MAX = 20;

/**
 * Pattern of a key's name: 1 to 64 characters without terminal control characters. Source:
 * decision 242.
 */
export const KEY_NAME = /^\P{C}{1,64}$/u;

/** An account with its keys, oldest first. Keys that expired long ago are left out (`isKept`). */
export type AccountWithKeys = {
  readonly account: Account;
  readonly keys: readonly ApiKeyRecord[];
};

/** Unix milliseconds from which a key is refused. A revoked key is refused at any time. */
export function keyEndsAtMs(key: ApiKeyRecord): number {
  if (key.revokedAtMs !== undefined) return Number.NEGATIVE_INFINITY;
  return key.expiresAtMs ?? Number.POSITIVE_INFINITY;
}

/** Whether calls may use a key at `nowMs`: it is not revoked, expired or disabled. */
export function isUsable(key: ApiKeyRecord, nowMs: number): boolean {
  return key.disabledAtMs === undefined && nowMs < keyEndsAtMs(key);
}

/**
 * Time that an expired key is kept, in milliseconds, so that lists show its end. Source:
 * decision 148.
 */
export const EXPIRED_KEY_KEPT_MS = 90 * 24 * 60 * 60 * 1_000;

/** Whether a key is kept at `nowMs`. A key without expiry is always kept, even if revoked. */
export function isKept({ expiresAtMs }: ApiKeyRecord, nowMs: number): boolean {
  return expiresAtMs === undefined || nowMs < expiresAtMs + EXPIRED_KEY_KEPT_MS;
}

/** Creator of a key or link: a member by user id, or an operator by the name that `ctl` sends. */
export type Creator = { readonly kind: 'user' | 'operator'; readonly id: string };

/** Format of a creator's text: kind, space, and an id of up to 64 characters. */
const TEXT = /^(?<kind>user|operator) (?<id>.{1,64})$/u;

/** A creator as one text, for stores that keep texts. */
export function creatorText({ kind, id }: Creator): string {
  return `${kind} ${id}`;
}

/** The creator in a text; undefined if this release does not know its format. */
export function creatorFrom(text: string | undefined): Creator | undefined {
  const { kind, id } = TEXT.exec(text ?? '')?.groups ?? {};
  if ((kind !== 'user' && kind !== 'operator') || id === undefined) return undefined;
  return { kind, id };
}

/**
 * Announcements of changed accounts: plan, status or keys. An announcement contains only the
 * account id, so listeners read the account again. Announcements may be late, repeated or lost, so
 * every listener also checks for changes by other means. Source: architecture 4.
 */
export interface AccountNews {
  /**
   * Whether announcements currently arrive, as far as known. While false, announcements are lost.
   */
  readonly isHeard: boolean;
  /**
   * Notifies every listener, in this process too. Called after the change is stored.
   */
  announce(accountId: string): void;
  /** Calls `listener` for every change, until disposed. `listener` must not throw. */
  onChange(listener: (accountId: string) => void): Disposable;
}
