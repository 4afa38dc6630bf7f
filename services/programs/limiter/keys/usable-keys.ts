import { timingSafeEqual } from 'node:crypto';
import { type AccountWithKeys, type ApiKeyRecord, isUsable } from '#accounts/account';
import {
  KEY_SCOPES,
  type KeyRight,
  type KeyScope,
  type NeededRight,
  RIGHTS,
  rightsOf,
} from '#accounts/api-key';
import type { Limits, PlanChange } from '#accounts/plan';
import { accountAt } from '#accounts/plan-change';
import type { AdmitCall } from '#grpc/limiter-messages';
import type { Instant } from '#stdlib/clock';
import { contains, type IpNetwork, readAddress, readNetwork } from '#stdlib/network';

/** A usable key in a meter's memory. */
export type HeldKey = {
  readonly digest: string;
  readonly scope: KeyScope;
  /** Unix milliseconds; undefined: the key never expires. */
  readonly expiresAtMs: number | undefined;
  /** Networks from which calls are accepted; undefined: any address. */
  readonly networks: readonly IpNetwork[] | undefined;
};

/** SHA-256 length in base64url, in characters. */
const DIGEST_LENGTH = 43;

// Buffers for comparing digests. Keys keep digests as strings, because a Buffer per key would cost
// more memory than the rest of the meter.
const presented = Buffer.alloc(DIGEST_LENGTH);
const known = Buffer.alloc(DIGEST_LENGTH);

/**
 * Keys that are usable at `nowMs`: not revoked, expired or disabled, and with a known scope. A
 * later release may store narrower scopes, which this release must refuse.
 */
export function keyRing(keys: readonly ApiKeyRecord[], nowMs: number): readonly HeldKey[] {
  return keys
    .filter((key) => isUsable(key, nowMs) && KEY_SCOPES.includes(key.scope))
    .map(({ digest, scope, expiresAtMs, networks }) => ({
      digest,
      scope,
      expiresAtMs,
      networks: networks && parsed(networks),
    }));
}

/** Parses networks. Drops an invalid network, which then admits no address. */
function parsed(networks: readonly string[]): readonly IpNetwork[] {
  return networks.map(readNetwork).filter((network) => network !== undefined);
}

/**
 * Whether a key is bound to networks, but the call has no address. A release 1.0 edge sends no
 * address and cannot handle the address verdict (decision 242, restricted keys).
 */
export function isUnplaced({ networks }: HeldKey, address = ''): boolean {
  return networks !== undefined && address === '';
}

/** Whether a key may be used from an address. */
export function mayComeFrom({ networks }: HeldKey, text = ''): boolean {
  if (networks === undefined) return true;
  const address = readAddress(text);
  return address !== undefined && networks.some((network) => contains(network, address));
}

/** Scopes that include each right, so that a check is a single look-up. */
const SCOPES_WITH: ReadonlyMap<KeyRight, ReadonlySet<string>> = new Map(
  RIGHTS.map((right) => [
    right,
    new Set<string>(KEY_SCOPES.filter((scope) => grants(rightsOf(scope), right))),
  ]),
);

/** Whether a key with this scope may make a call that needs `needed`. Runs on every call. */
export function isScopeEnough(scope: KeyScope, needed: NeededRight): boolean {
  return needed === 'any' || scope === needed || SCOPES_WITH.get(needed)?.has(scope) === true;
}

function grants(rights: readonly KeyRight[], right: KeyRight): boolean {
  return rights.includes(right) || (right === 'read' && rights.includes('full'));
}

/** Keys in a ring that are not expired at `nowMs`. */
export function usableOf(ring: readonly HeldKey[], nowMs: number): readonly HeldKey[] {
  return ring.filter(({ expiresAtMs = Number.POSITIVE_INFINITY }) => expiresAtMs > nowMs);
}

/** Earliest expiry in a ring, in Unix milliseconds; undefined: no key expires. */
export function firstExpiryOf(ring: readonly HeldKey[]): number | undefined {
  let first: number | undefined;
  for (const { expiresAtMs } of ring) {
    if (expiresAtMs !== undefined) first = Math.min(expiresAtMs, first ?? expiresAtMs);
  }
  return first;
}

/** Finds the key with this digest. Each comparison takes constant time. */
export function keyInRing(ring: readonly HeldKey[], digest: string): HeldKey | undefined {
  if (digest.length !== DIGEST_LENGTH) return undefined;
  presented.write(digest, 'latin1');
  for (const key of ring) {
    known.write(key.digest, 'latin1');
    // Latin-1 keeps only a character's low byte. So compare the strings after the timing-safe
    // match.
    if (timingSafeEqual(presented, known)) return key.digest === digest ? key : undefined;
  }
  return undefined;
}

/** Limits for an unknown account. No answer contains them. */
const NOTHING: Limits = { requestsPerMinute: 0, cyclesPerMonth: 0, instances: 0 };

/**
 * Rights for a signed-in member: all the account's rights. The console has already checked the
 * member's role (decision 253).
 */
const OF_MEMBER: HeldKey = {
  digest: '',
  scope: 'full',
  expiresAtMs: undefined,
  networks: undefined,
};

/** Memory per usable key, in bytes: record and digest. */
const KEY_BYTES = 168;

/** Memory per network of a key, in bytes. */
const NETWORK_BYTES = 160;

/** A meter's cached account copy, with an age. */
export class CachedAccount {
  isSuspended = false;
  limits = NOTHING;
  /** Model selected for the account's instances. */
  modelVersion: string | undefined;
  /** Incremented by every refresh and invalidation, so that outdated reads can be detected. */
  edition = 0;
  #keys: readonly HeldKey[] = [];
  /** Earliest key expiry, in Unix milliseconds; undefined: no key expires. */
  #keyExpiresAtMs: number | undefined;
  /** Scheduled plan change; undefined: no change is scheduled. */
  #planChange: PlanChange | undefined;
  #isInvalid = false;
  /**
   * Start of the account read, in monotonic milliseconds. Rounded down, so that the copy never
   * becomes stale too late.
   */
  #readAtMs = 0;

  constructor(account: AccountWithKeys | undefined, readAt: Instant) {
    this.refresh(account, readAt);
  }

  /**
   * Replaces the copy by a read that began at `readAt`. Changes after `readAt` may be missing, so
   * the age starts at `readAt`.
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

  /** Applies a scheduled plan change when due, without a read or an announcement. */
  bringUpTo(nowMs: number): void {
    if (this.#planChange === undefined || nowMs < this.#planChange.atMs) return;
    this.limits = this.#planChange.limits;
    this.#planChange = undefined;
  }

  /** Whether the account does not exist. */
  get isAbsent(): boolean {
    return this.limits === NOTHING;
  }

  /** Invalidates the copy: the meter must read the account before its next decision. */
  invalidate(): void {
    this.edition += 1;
    this.#isInvalid = true;
  }

  /** Whether the copy was invalidated or is older than `ageMs`. */
  isStale(now: Instant, ageMs: number): boolean {
    return this.#isInvalid || now.monotonicMs - this.#readAtMs > ageMs;
  }

  /**
   * A call's rights: from its key, or for a member all the account's rights. Undefined if the
   * account or key is unknown, or the key has expired.
   */
  holderOf({ keyDigest, isOfMember }: AdmitCall, nowMs: number): HeldKey | undefined {
    if (isOfMember !== true) return this.keyWith(keyDigest, nowMs);
    return this.isAbsent ? undefined : OF_MEMBER;
  }

  /** Finds the key with this digest; undefined if unknown or expired. */
  keyWith(digest: string, nowMs: number): HeldKey | undefined {
    if (this.#keyExpiresAtMs !== undefined && nowMs >= this.#keyExpiresAtMs) {
      this.#hold(usableOf(this.#keys, nowMs));
    }
    return keyInRing(this.#keys, digest);
  }

  /** Estimated key memory, in bytes. */
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
