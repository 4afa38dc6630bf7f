import type { AccountWithKeys, KeyScope } from '#accounts/account';
import type { Limits } from '#accounts/plan';
import { firstExpiryOf, type HeldKey, keyRing, scopeInRing, usableOf } from '#limiter/key-ring';
import type { Instant } from '#platform/instant';

/** Limits of an account that does not exist. Nobody is ever told. */
const NOTHING: Limits = { requestsPerMinute: 0, cyclesPerMonth: 0, instances: 0 };

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
  /** When the first of the keys expires; undefined, which takes no place: none does. */
  #keyExpiresAtMs: number | undefined;
  #isStale = false;
  /** When the read of it began, by the monotonic clock. Whole: V8 boxes other numbers. */
  #readAtMs = 0;

  constructor(account: AccountWithKeys | undefined, readAt: Instant) {
    this.adopt(account, readAt);
  }

  /**
   * Takes the account as a read found it that began at `readAt`: what changed after that moment may
   * be missing, however long the read took and whenever the account is next asked for.
   */
  adopt(account: AccountWithKeys | undefined, readAt: Instant): void {
    this.edition += 1;
    this.#isStale = false;
    this.#readAtMs = Math.floor(readAt.monotonicMs);
    this.isAbsent = account === undefined;
    this.isSuspended = account?.account.status === 'suspended';
    this.limits = account?.account.limits ?? NOTHING;
    this.#hold(keyRing(account?.keys ?? [], readAt.wallMs));
  }

  /** The account has changed: until it has been read again nothing may be decided. */
  outdate(): void {
    this.edition += 1;
    this.#isStale = true;
  }

  /** Whether the account must be read again: it has changed, or was read more than `ageMs` ago. */
  isOutdated(now: Instant, ageMs: number): boolean {
    return this.#isStale || now.monotonicMs - this.#readAtMs > ageMs;
  }

  /** What the key with this digest may do; undefined if there is no such key, or no more. */
  scopeOf(digest: string, nowMs: number): KeyScope | undefined {
    if (this.#keyExpiresAtMs !== undefined && nowMs >= this.#keyExpiresAtMs) {
      this.#hold(usableOf(this.#keys, nowMs));
    }
    return scopeInRing(this.#keys, digest);
  }

  /** Bytes held in memory by its keys, estimated. */
  get keyBytes(): number {
    return this.#keys.length * KEY_BYTES;
  }

  #hold(keys: readonly HeldKey[]): void {
    this.#keys = keys;
    this.#keyExpiresAtMs = firstExpiryOf(keys);
  }
}
