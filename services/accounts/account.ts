import type { KeyScope } from '#accounts/api-key';
import type { Limits, Plan, PlanChange, Retention } from '#accounts/plan';

/** What an operator may make of an account. A suspended one is answered 403. */
export type SetStatus = 'active' | 'suspended';

/**
 * Whether an account's keys may do anything: those of an active one alone. One that is being
 * imported is not there yet for its callers; one that is being deleted has no usable key
 * (decisions 232 and 233).
 */
type AccountStatus = SetStatus | 'importing' | 'deleting';

/** Whom instances belong to and who is billed. Source: interface 5, 8.1. */
export type Account = {
  /** 12 base62 characters, part of every key of the account (decision 41). */
  readonly id: string;
  readonly name: string;
  readonly plan: Plan;
  readonly status: AccountStatus;
  readonly limits: Limits;
  /** The plan that follows at a time; absent: none does (decision 300). */
  readonly planChange?: PlanChange;
  /** The model that it has chosen for its instances; absent: none (decision 238). */
  readonly modelVersion?: string;
  /** Its own, whatever its plan says; absent: that of the plan (decision 234). */
  readonly retention?: Retention;
  readonly createdAtMs: number;
};

/** An account that has chosen a model; undefined: none any more. */
export function withModel(
  { modelVersion: _, ...account }: Account,
  chosen: string | undefined,
): Account {
  return chosen === undefined ? account : { ...account, modelVersion: chosen };
}

/** An account that has a retention of its own; undefined: that of its plan again. */
export function withRetention(
  { retention: _, ...account }: Account,
  own: Retention | undefined,
): Account {
  return own === undefined ? account : { ...account, retention: own };
}

/** A key as it is stored: a reader of this cannot use it. Source: interface 5.3. */
export type ApiKeyRecord = {
  /** `key_` and 16 hexadecimal characters; names the key without revealing it. */
  readonly id: string;
  /** SHA-256 of the whole key, base64url. */
  readonly digest: string;
  readonly scope: KeyScope;
  readonly createdAtMs: number;
  readonly revokedAtMs?: number;
  readonly expiresAtMs?: number;
  /** What its owner calls it, for people alone; absent: nothing. */
  readonly name?: string;
  /** The last 4 characters of its secret (`hintOf`); absent: made by a release that kept none. */
  readonly hint?: string;
  /** Where it may be used from, in CIDR notation as `networkText` writes it; absent: anywhere. */
  readonly networks?: readonly string[];
  /** Since when it is disabled; absent: it is not. */
  readonly disabledAtMs?: number;
  /** The key that took its place when it was rotated. */
  readonly replacedBy?: string;
  /** Who made the key; absent: made by a release that did not record it. */
  readonly createdBy?: Creator;
};

/** Networks of one key: each costs its admissions 0.1 µs, and the address 2 µs. */
export const KEY_NETWORKS_MAX = 20;

/**
 * What a key is called: 1 to 64 characters, none of which may steer a terminal.
 * Source: decision 242.
 */
export const KEY_NAME = /^\P{C}{1,64}$/u;

/** An account and its keys, oldest first: all but those that expired long ago. */
export type AccountWithKeys = {
  readonly account: Account;
  readonly keys: readonly ApiKeyRecord[];
};

/** Unix milliseconds from which a key is refused; a revoked one is, whatever a clock says. */
export function keyEndsAtMs(key: ApiKeyRecord): number {
  if (key.revokedAtMs !== undefined) return Number.NEGATIVE_INFINITY;
  return key.expiresAtMs ?? Number.POSITIVE_INFINITY;
}

/** Whether a key lets its callers in at `nowMs`: it has not ended and is not disabled. */
export function isUsable(key: ApiKeyRecord, nowMs: number): boolean {
  return key.disabledAtMs === undefined && nowMs < keyEndsAtMs(key);
}

/** How long an expired key is kept, to say what became of it. Source: decision 148. */
export const EXPIRED_KEY_KEPT_MS = 90 * 24 * 60 * 60 * 1_000;

/** Whether a key is kept at `nowMs`. One that never expires is, revoked or not. */
export function isKept({ expiresAtMs }: ApiKeyRecord, nowMs: number): boolean {
  return expiresAtMs === undefined || nowMs < expiresAtMs + EXPIRED_KEY_KEPT_MS;
}

/**
 * Who made a key or a link: a member by the id of the user, or an operator by the name that `ctl`
 * sends.
 */
export type Creator = { readonly kind: 'user' | 'operator'; readonly id: string };

/** Longest text of a creator, in UTF-16 units: `operator ` and a name of 64. */
const TEXT = /^(?<kind>user|operator) (?<id>.{1,64})$/u;

/** A creator as one text, for stores that keep texts. */
export function creatorText({ kind, id }: Creator): string {
  return `${kind} ${id}`;
}

/** The creator that a text names; undefined: it names none that this release knows. */
export function creatorFrom(text: string | undefined): Creator | undefined {
  const { kind, id } = TEXT.exec(text ?? '')?.groups ?? {};
  if ((kind !== 'user' && kind !== 'operator') || id === undefined) return undefined;
  return { kind, id };
}

/**
 * News that an account has changed: its plan, its status or one of its keys. Only that it has,
 * never how: a listener reads the account again. It may come late, twice or not at all, so every
 * listener has another way to find out in time. Source: architecture 4.
 */
export interface AccountNews {
  /** Whether news comes through now, as far as is known: what is announced meanwhile is lost. */
  readonly isHeard: boolean;
  /** Notifies every listener, those of this process included. Called once the change is stored. */
  announce(accountId: string): void;
  /** Calls `listener` for every change, until disposed. It must not throw. */
  onChange(listener: (accountId: string) => void): Disposable;
}
