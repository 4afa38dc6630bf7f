import { timingSafeEqual } from 'node:crypto';
import { type ApiKeyRecord, KEY_SCOPES, type KeyScope, keyEndsAtMs } from '#accounts/account';

/** What a meter keeps of a key that may still be used. */
export type HeldKey = {
  readonly digest: string;
  readonly scope: KeyScope;
  /** Undefined: never. */
  readonly expiresAtMs: number | undefined;
};

/** Characters of a SHA-256 in base64url. */
const DIGEST_LENGTH = 43;

// Digests stay strings, and are laid side by side here to be compared: a Buffer for every key of
// every account would cost more memory than the rest of its meter.
const presented = Buffer.alloc(DIGEST_LENGTH);
const known = Buffer.alloc(DIGEST_LENGTH);

/**
 * The keys that may be used at `nowMs`: neither revoked nor expired, and of a scope that this release
 * knows. A later one may store keys that may do less, and must not find them let in by this one.
 */
export function keyRing(keys: readonly ApiKeyRecord[], nowMs: number): readonly HeldKey[] {
  return keys
    .filter((key) => keyEndsAtMs(key) > nowMs && KEY_SCOPES.includes(key.scope))
    .map(({ digest, scope, expiresAtMs }) => ({ digest, scope, expiresAtMs }));
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
 * The scope of the key with this digest, or undefined if there is none. How long a comparison takes
 * reveals nothing of how much of a digest was right.
 */
export function scopeInRing(ring: readonly HeldKey[], digest: string): KeyScope | undefined {
  if (digest.length !== DIGEST_LENGTH) return undefined;
  presented.write(digest, 'latin1');
  for (const key of ring) {
    known.write(key.digest, 'latin1');
    // Latin-1 keeps the low byte of a character alone; what this reveals is known already.
    if (timingSafeEqual(presented, known)) return key.digest === digest ? key.scope : undefined;
  }
  return undefined;
}
