import { timingSafeEqual } from 'node:crypto';
import type { ApiKeyRecord, KeyScope } from '#accounts/account';

/** What a meter keeps of a key that may still be used. */
export type HeldKey = {
  readonly digest: string;
  readonly scope: KeyScope;
  /** Undefined: never. Not infinity, which V8 would box for every key. */
  readonly expiresAtMs: number | undefined;
};

/** Characters of a SHA-256 in base64url. */
const DIGEST_LENGTH = 43;

// Digests stay strings, and are laid side by side here to be compared: a Buffer for every key of
// every account would cost more memory than the rest of its meter.
const presented = Buffer.alloc(DIGEST_LENGTH);
const known = Buffer.alloc(DIGEST_LENGTH);

/** The keys that are not revoked. */
export function keyRing(keys: readonly ApiKeyRecord[]): readonly HeldKey[] {
  return keys
    .filter((key) => key.revokedAtMs === undefined)
    .map(({ digest, scope, expiresAtMs }) => ({ digest, scope, expiresAtMs }));
}

/**
 * The scope of the key with this digest, or undefined if there is none or it has expired. How long
 * a comparison takes tells nothing of how much of a digest was right.
 */
export function scopeInRing(
  ring: readonly HeldKey[],
  digest: string,
  nowMs: number,
): KeyScope | undefined {
  if (digest.length !== DIGEST_LENGTH) return undefined;
  presented.write(digest, 'latin1');
  for (const key of ring) {
    known.write(key.digest, 'latin1');
    if (!timingSafeEqual(presented, known)) continue;
    return key.expiresAtMs === undefined || nowMs < key.expiresAtMs ? key.scope : undefined;
  }
  return undefined;
}
