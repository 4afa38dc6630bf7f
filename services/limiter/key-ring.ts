import { timingSafeEqual } from 'node:crypto';
import { type ApiKeyRecord, isUsable } from '#accounts/account';
import { KEY_SCOPES, type KeyScope } from '#accounts/key-scope';
import { readAddress } from '#platform/ip-address';
import { contains, type IpNetwork, readNetwork } from '#platform/ip-network';

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
