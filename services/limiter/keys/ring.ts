import { timingSafeEqual } from 'node:crypto';
import { type AccountWithKeys, type ApiKeyRecord, isUsable } from '#accounts/account';
import { KEY_SCOPES, type KeyScope } from '#accounts/api-key';
import type { Limits, PlanChange } from '#accounts/plan';
import { accountAt } from '#accounts/plan-change';
import type { Instant } from '#platform/clock';
import { contains, type IpNetwork, readAddress, readNetwork } from '#platform/network';
import type { AdmitCall } from '#wire/limiter-messages';

/** What a meter keeps of a key that may still be used. */
export type HeldKey = {
  readonly digest: string;
  readonly scope: KeyScope;
  /** Undefined: never. */
  readonly expiresAtMs: number | undefined;
  /** Where it may be used from; undefined: anywhere. */
  readonly networks: readonly IpNetwork[] | undefined;
};

/** Characters of a SHA-256 in base64url. */
const DIGEST_LENGTH = 43;

// Digests stay strings, and are laid side by side here to be compared: a Buffer for every key of
// every account would cost more memory than the rest of its meter.
const presented = Buffer.alloc(DIGEST_LENGTH);
const known = Buffer.alloc(DIGEST_LENGTH);

/**
 * The keys that may be used at `nowMs`: neither revoked nor expired nor disabled, and of a scope that
 * this release knows. A later one may store keys that may do less, and must not find them let in by
 * this one.
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

/** A text that is no network lets nothing in. */
function parsed(networks: readonly string[]): readonly IpNetwork[] {
  return networks.map(readNetwork).filter((network) => network !== undefined);
}

/**
 * Whether a key is bound to networks and a call does not say where it comes from. An edge of
 * release 1.0 says it of no call and does not know the verdict on its address (decision 242).
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

/**
 * The key with this digest, or undefined if there is none. How long a comparison takes reveals
 * nothing of how much of a digest was right.
 */
export function keyInRing(ring: readonly HeldKey[], digest: string): HeldKey | undefined {
  if (digest.length !== DIGEST_LENGTH) return undefined;
  presented.write(digest, 'latin1');
  for (const key of ring) {
    known.write(key.digest, 'latin1');
    // Latin-1 keeps the low byte of a character alone; what this reveals is known already.
    if (timingSafeEqual(presented, known)) return key.digest === digest ? key : undefined;
  }
  return undefined;
}

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
