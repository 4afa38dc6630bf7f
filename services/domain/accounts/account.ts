import type { KeyScope } from '#accounts/api-key';
import type { Limits, Plan, PlanChange, Retention } from '#accounts/plan';

/** Status that an operator can set. Calls to a suspended account get 403. */
export type SetStatus = 'active' | 'suspended';

/**
 * Status of an account. Only an active account admits calls. `importing`: an import is still
 * writing the account's data; `deleting`: the account has no usable key (decisions 232 and 233).
 */
type AccountStatus = SetStatus | 'importing' | 'deleting';

/** A customer account, which owns instances and is billed. Source: interface 5, 8.1. */
export type Account = {
  /** 12 base62 characters. Every API key contains its account id (decision 41). */
  readonly id: string;
  readonly name: string;
  readonly plan: Plan;
  readonly status: AccountStatus;
  readonly limits: Limits;
  /** Scheduled plan change; absent: no change is scheduled (decision 300). */
  readonly planChange?: PlanChange;
  /** Model version chosen for the account's instances; absent: no choice (decision 238). */
  readonly modelVersion?: string;
  /** Retention set for this account; absent: the plan's retention (decision 234). */
  readonly retention?: Retention;
  readonly createdAtMs: number;
};

/** Selects a model for the account. If `chosen` is undefined, removes the selection. */
export function withModel(
  { modelVersion: _, ...account }: Account,
  chosen: string | undefined,
): Account {
  return chosen === undefined ? account : { ...account, modelVersion: chosen };
}

/** Sets the account's own retention. If `own` is undefined, the plan's retention applies again. */
export function withRetention(
  { retention: _, ...account }: Account,
  own: Retention | undefined,
): Account {
  return own === undefined ? account : { ...account, retention: own };
}

/** An API key as stored. The secret cannot be derived from the record. Source: interface 5.3. */
export type ApiKeyRecord = {
  /** `key_` and 16 hexadecimal characters. Identifies the key without revealing it. */
  readonly id: string;
  /** SHA-256 of the whole key, base64url. */
  readonly digest: string;
  readonly scope: KeyScope;
  readonly createdAtMs: number;
  readonly revokedAtMs?: number;
  readonly expiresAtMs?: number;
  /** Display name; absent: the key has no name. */
  readonly name?: string;
  /** Last 4 characters of the secret (`hintOf`); absent: an older release created the key. */
  readonly hint?: string;
  /** Networks from which calls are accepted, in CIDR notation (`networkText`); absent: all. */
  readonly networks?: readonly string[];
  /** Disabling time in Unix milliseconds; absent: the key is enabled. */
  readonly disabledAtMs?: number;
  /** Replacement key id after a rotation. */
  readonly replacedBy?: string;
  /** Creator of the key; absent: an older release did not record the creator. */
  readonly createdBy?: Creator;
};

/** Maximum number of networks per key. Each network adds 0.1 µs to an admission. */
export const KEY_NETWORKS_MAX = 20;

/**
 * Pattern for key names: 1 to 64 characters without control characters, because terminals print
 * names (decision 242).
 */
export const KEY_NAME = /^\P{C}{1,64}$/u;

/** An account with its keys, oldest first, without keys that expired long ago (`isKept`). */
export type AccountWithKeys = {
  readonly account: Account;
  readonly keys: readonly ApiKeyRecord[];
};

/** Unix milliseconds from which a key is refused; `-Infinity` for a revoked key. */
export function keyEndsAtMs(key: ApiKeyRecord): number {
  if (key.revokedAtMs !== undefined) return Number.NEGATIVE_INFINITY;
  return key.expiresAtMs ?? Number.POSITIVE_INFINITY;
}

/** Whether calls may use a key at `nowMs`: not revoked, not expired and not disabled. */
export function isUsable(key: ApiKeyRecord, nowMs: number): boolean {
  return key.disabledAtMs === undefined && nowMs < keyEndsAtMs(key);
}

/** Retention of an expired key, in milliseconds. Lists show the expiry meanwhile (decision 148). */
export const EXPIRED_KEY_KEPT_MS = 90 * 24 * 60 * 60 * 1_000;

/** Whether a key is kept at `nowMs`. A key without expiry is kept, even if revoked. */
export function isKept({ expiresAtMs }: ApiKeyRecord, nowMs: number): boolean {
  return expiresAtMs === undefined || nowMs < expiresAtMs + EXPIRED_KEY_KEPT_MS;
}

/** Creator of a key or link: a member (user id) or an operator (name sent by `ctl`). */
export type Creator = { readonly kind: 'user' | 'operator'; readonly id: string };

/** Creator as text: kind, space, and an id with up to 64 characters. */
const TEXT = /^(?<kind>user|operator) (?<id>.{1,64})$/u;

/** Formats a creator as text, for stores. */
export function creatorText({ kind, id }: Creator): string {
  return `${kind} ${id}`;
}

/** Parses a creator; undefined if this release does not support the format. */
export function creatorFrom(text: string | undefined): Creator | undefined {
  const { kind, id } = TEXT.exec(text ?? '')?.groups ?? {};
  if ((kind !== 'user' && kind !== 'operator') || id === undefined) return undefined;
  return { kind, id };
}

/**
 * Announcements: an account's plan, status or keys have changed, or only the rights of one member.
 * An announcement contains only ids, so listeners read the account again. Announcements may be late, repeated or lost.
 * Every listener must also poll for changes. Source: architecture 4.
 */
export interface AccountNews {
  /** Whether announcements arrive at present. While false, announcements are lost. */
  readonly isHeard: boolean;
  /**
   * Notifies every listener, including local listeners. Must be called after the change is stored.
   */
  announce(accountId: string, memberId?: string): void;
  /**
   * Calls `listener` for every change, until disposed. `memberId` is the user whose rights or session
   * changed; undefined if the account changed. `listener` must not throw.
   */
  onChange(listener: (accountId: string, memberId: string | undefined) => void): Disposable;
}
