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

/** A usable key as a meter keeps it in memory. */
export type HeldKey = {
  readonly digest: string;
  readonly scope: KeyScope;
  /** Unix milliseconds; undefined: never. */
  readonly expiresAtMs: number | undefined;
  /** Networks that calls may come from; undefined: any address. */
  readonly networks: readonly IpNetwork[] | undefined;
};

/** Characters of a SHA-256 in base64url. */
const DIGEST_LENGTH = 43;

// Buffers for comparing digests. Digests stay strings: a Buffer per key would cost more memory than
// the rest of the meter.
const presented = Buffer.alloc(DIGEST_LENGTH);
const known = Buffer.alloc(DIGEST_LENGTH);

/**
 * The keys that may be used at `nowMs`: not revoked, expired or disabled, and with a known scope. A
 * later release may store narrower scopes, which this release must not accept.
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

/** Parsed networks. An invalid text is dropped and admits no address. */
function parsed(networks: readonly string[]): readonly IpNetwork[] {
  return networks.map(readNetwork).filter((network) => network !== undefined);
}

/**
 * Whether a key is bound to networks and the call has no address. An edge of release 1.0 sends no
 * address and cannot handle the address verdict (decision 242).
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

/** Scopes that contain each right, so that a check of a call is one look-up. */
const SCOPES_WITH: ReadonlyMap<KeyRight, ReadonlySet<string>> = new Map(
  RIGHTS.map((right) => [
    right,
    new Set<string>(KEY_SCOPES.filter((scope) => grants(rightsOf(scope), right))),
  ]),
);

/** Whether a key with this scope may make a call that needs `needed`. Runs in every call. */
export function isScopeEnough(scope: KeyScope, needed: NeededRight): boolean {
  return needed === 'any' || scope === needed || SCOPES_WITH.get(needed)?.has(scope) === true;
}

function grants(rights: readonly KeyRight[], right: KeyRight): boolean {
  return rights.includes(right) || (right === 'read' && rights.includes('full'));
}

/** The keys of a ring that have not expired at `nowMs`. */
export function usableOf(ring: readonly HeldKey[], nowMs: number): readonly HeldKey[] {
  return ring.filter(({ expiresAtMs = Number.POSITIVE_INFINITY }) => expiresAtMs > nowMs);
}

/** Unix milliseconds at which the first key of a ring expires; undefined: none ever does. */
export function firstExpiryOf(ring: readonly HeldKey[]): number | undefined {
  let first: number | undefined;
  for (const { expiresAtMs } of ring) {
    if (expiresAtMs !== undefined) first = Math.min(expiresAtMs, first ?? expiresAtMs);
  }
  return first;
}

/** The key with this digest; undefined if there is none. Each comparison takes constant time. */
export function keyInRing(ring: readonly HeldKey[], digest: string): HeldKey | undefined {
  if (digest.length !== DIGEST_LENGTH) return undefined;
  presented.write(digest, 'latin1');
  for (const key of ring) {
    known.write(key.digest, 'latin1');
    // Latin-1 keeps only the low byte of a character: compare the strings after the timing-safe
    // match.
    if (timingSafeEqual(presented, known)) return key.digest === digest ? key : undefined;
  }
  return undefined;
}

/** Limits of an unknown account; no answer shows them. */
const NOTHING: Limits = { requestsPerMinute: 0, cyclesPerMonth: 0, instances: 0 };

/**
 * Rights of a signed-in member: all rights of the account. The console has already checked the
 * member's role (decision 253).
 */
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

/** A meter's cached copy of its account, with its age. */
export class CachedAccount {
  isSuspended = false;
  limits = NOTHING;
  /** The model that the account selected for its instances. */
  modelVersion: string | undefined;
  /** Grows with every refresh and invalidation, so that an older read is detected and dropped. */
  edition = 0;
  #keys: readonly HeldKey[] = [];
  /** Unix milliseconds at which the first key expires; undefined if none does. */
  #keyExpiresAtMs: number | undefined;
  /** The scheduled change of plan; undefined if there is none. */
  #planChange: PlanChange | undefined;
  #isInvalid = false;
  /**
   * Start of the account's read in monotonic milliseconds, rounded down: stale early, never late.
   */
  #readAtMs = 0;

  constructor(account: AccountWithKeys | undefined, readAt: Instant) {
    this.refresh(account, readAt);
  }

  /**
   * Takes the account from a read that began at `readAt`. Changes after `readAt` may be missing, so
   * the age counts from then.
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

  /** Applies a scheduled change of plan at its time, without a read or an announcement. */
  bringUpTo(nowMs: number): void {
    if (this.#planChange === undefined || nowMs < this.#planChange.atMs) return;
    this.limits = this.#planChange.limits;
    this.#planChange = undefined;
  }

  /** Whether the account does not exist. */
  get isAbsent(): boolean {
    return this.limits === NOTHING;
  }

  /** Records that the account has changed: the meter must read it again before the next decision. */
  invalidate(): void {
    this.edition += 1;
    this.#isInvalid = true;
  }

  /** Whether the account must be read again: it was invalidated, or is older than `ageMs`. */
  isStale(now: Instant, ageMs: number): boolean {
    return this.#isInvalid || now.monotonicMs - this.#readAtMs > ageMs;
  }

  /**
   * The rights of a call: from the key with its digest, or for a member all rights of the account.
   * Undefined if the key or account does not exist, or the key has expired.
   */
  holderOf({ keyDigest, isOfMember }: AdmitCall, nowMs: number): HeldKey | undefined {
    if (isOfMember !== true) return this.keyWith(keyDigest, nowMs);
    return this.isAbsent ? undefined : OF_MEMBER;
  }

  /** The key with this digest; undefined if there is none or it has expired. */
  keyWith(digest: string, nowMs: number): HeldKey | undefined {
    if (this.#keyExpiresAtMs !== undefined && nowMs >= this.#keyExpiresAtMs) {
      this.#hold(usableOf(this.#keys, nowMs));
    }
    return keyInRing(this.#keys, digest);
  }

  /** Estimated bytes of the keys in memory. */
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
