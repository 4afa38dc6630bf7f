import type { AccountWithKeys, KeyScope } from '#accounts/account';
import type { Instant } from '#accounts/minute-window';
import type { Limits } from '#accounts/plan';
import { type HeldKey, keyRing, scopeInRing } from '#limiter/key-ring';

/** Limits of an account that does not exist. Nobody is ever told. */
const NOTHING: Limits = { requestsPerMinute: 0, cyclesPerMonth: 0 };

/** Bytes per usable key: record and digest. */
const KEY_BYTES = 160;

/** What a meter knows of its account, and how sure it may be of it. */
export class KnownAccount {
  isAbsent = true;
  isSuspended = false;
  limits = NOTHING;
  /** Changes with everything that is heard of the account, so that what was read before is known. */
  edition = 0;
  #keys: readonly HeldKey[] = [];
  #isStale = false;
  /** When the account was read, by the monotonic clock; undefined before the first turn. */
  #readAtMs: number | undefined;

  constructor(account: AccountWithKeys | undefined) {
    this.adopt(account);
  }

  /** Takes the account as it is now. */
  adopt(account: AccountWithKeys | undefined): void {
    this.edition += 1;
    this.#isStale = false;
    this.#readAtMs = undefined;
    this.isAbsent = account === undefined;
    this.isSuspended = account?.account.status === 'suspended';
    this.limits = account?.account.limits ?? NOTHING;
    this.#keys = keyRing(account?.keys ?? []);
  }

  /** The account has changed: until it has been read again nothing may be decided. */
  outdate(): void {
    this.edition += 1;
    this.#isStale = true;
  }

  /** Whether the account must be read again: it has changed, or was read more than `ageMs` ago. */
  isOutdated(now: Instant, ageMs: number): boolean {
    this.#readAtMs ??= Math.floor(now.monotonicMs);
    return this.#isStale || now.monotonicMs - this.#readAtMs > ageMs;
  }

  /** What the key with this digest may do; undefined if there is no such key. */
  scopeOf(digest: string, nowMs: number): KeyScope | undefined {
    return scopeInRing(this.#keys, digest, nowMs);
  }

  /** Bytes held in memory by its keys, estimated. */
  get keyBytes(): number {
    return this.#keys.length * KEY_BYTES;
  }
}
