import type { AccountWithKeys } from '#accounts/account';
import type { Limits, PlanChange } from '#accounts/plan';
import { accountAt } from '#accounts/plan-change';
import { firstExpiryOf, type HeldKey, keyInRing, keyRing, usableOf } from '#limiter/key-ring';
import type { Instant } from '#platform/instant';
import type { AdmitCall } from '#wire/limiter-messages';

/** Limits of an account that does not exist; no answer shows them. */
const NOTHING: Limits = { requestsPerMinute: 0, cyclesPerMonth: 0, instances: 0 };

/** What a member may do, whose role the console has looked at: all that the account may (decision 253). */
const OF_MEMBER: HeldKey = {
  digest: '',
  scope: 'full',
  expiresAtMs: undefined,
  networks: undefined,
};

/** Bytes per usable key: record and digest. */
const KEY_BYTES = 168;

/** Bytes per network of a key: its numbers. */
const NETWORK_BYTES = 160;

/** A meter's copy of its account, and how old it is. */
export class CachedAccount {
  isSuspended = false;
  limits = NOTHING;
  /** The model that the account has chosen for its instances. */
  modelVersion: string | undefined;
  /** Grows with every refresh and invalidation: what was read before one of them is recognised. */
  edition = 0;
  #keys: readonly HeldKey[] = [];
  /** When the first of the keys expires; undefined: none does. */
  #keyExpiresAtMs: number | undefined;
  /** The plan that follows; undefined: none is to come. */
  #planChange: PlanChange | undefined;
  #isInvalid = false;
  /** When the account's read began, by the monotonic clock, rounded down: stale early, never late. */
  #readAtMs = 0;

  constructor(account: AccountWithKeys | undefined, readAt: Instant) {
    this.refresh(account, readAt);
  }

  /**
   * Takes the account as a read found it that began at `readAt`: what changed after that moment may
   * be missing, however long the read took and whenever the account is next asked for.
   */
  refresh(account: AccountWithKeys | undefined, readAt: Instant): void {
    this.edition += 1;
    this.#isInvalid = false;
    this.#readAtMs = Math.floor(readAt.monotonicMs);
    const present = account && accountAt(account.account, readAt.wallMs);
    this.isSuspended = present !== undefined && present.status !== 'active';
    this.limits = present?.limits ?? NOTHING;
    this.#planChange = present?.planChange;
    this.modelVersion = present?.modelVersion;
    this.#hold(keyRing(account?.keys ?? [], readAt.wallMs));
  }

  /** Goes over to the later plan at its time, without a read and without an announcement. */
  bringUpTo(nowMs: number): void {
    if (this.#planChange === undefined || nowMs < this.#planChange.atMs) return;
    this.limits = this.#planChange.limits;
    this.#planChange = undefined;
  }

  /** Whether there is no such account. */
  get isAbsent(): boolean {
    return this.limits === NOTHING;
  }

  /** The account has changed: until it has been read again nothing may be decided. */
  invalidate(): void {
    this.edition += 1;
    this.#isInvalid = true;
  }

  /** Whether the account must be read again: it has changed, or was read more than `ageMs` ago. */
  isStale(now: Instant, ageMs: number): boolean {
    return this.#isInvalid || now.monotonicMs - this.#readAtMs > ageMs;
  }

  /**
   * What a call may do by the key with its digest, or a member of the account by whatever there is;
   * undefined: there is no such key, or no longer, or no account.
   */
  holderOf({ keyDigest, isOfMember }: AdmitCall, nowMs: number): HeldKey | undefined {
    if (isOfMember !== true) return this.keyWith(keyDigest, nowMs);
    return this.isAbsent ? undefined : OF_MEMBER;
  }

  /** The key with this digest; undefined: there is no such key, or no longer. */
  keyWith(digest: string, nowMs: number): HeldKey | undefined {
    if (this.#keyExpiresAtMs !== undefined && nowMs >= this.#keyExpiresAtMs) {
      this.#hold(usableOf(this.#keys, nowMs));
    }
    return keyInRing(this.#keys, digest);
  }

  /** Bytes held in memory by its keys, estimated. */
  get keyBytes(): number {
    let bytes = this.#keys.length * KEY_BYTES;
    for (const { networks } of this.#keys) bytes += (networks?.length ?? 0) * NETWORK_BYTES;
    return bytes;
  }

  #hold(keys: readonly HeldKey[]): void {
    this.#keys = keys;
    this.#keyExpiresAtMs = firstExpiryOf(keys);
  }
}
