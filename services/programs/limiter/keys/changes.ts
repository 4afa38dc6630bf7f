import { type ApiKeyRecord, keyEndsAtMs } from '#accounts/account';
import type { KeyScope } from '#accounts/api-key';
import { Fault } from '#errors/fault';
import { USABLE_KEYS_MAX } from '#limiter/quota-bounds';
import type { KeyChange } from '#storage/ports/accounts';

/*
 * Key changes as pure functions over keys and time, for `AccountStore.changeKeys`. Each function
 * returns the resulting key, and writes nothing if the key already has the requested state. Throws
 * `not_found` for an unknown key and `conflict` for an invalid change. Source: decision 242.
 */

type Keys = readonly ApiKeyRecord[];

/** Rotation result: the new key, and the replaced key with its new expiry. */
export type Rotation = { readonly made: ApiKeyRecord; readonly replaced: ApiKeyRecord };

/** Adds a key. Throws `conflict` if the account has the maximum number of usable keys. */
export function withKey(keys: Keys, key: ApiKeyRecord, nowMs: number): KeyChange<ApiKeyRecord> {
  assertRoom(keys, nowMs);
  return { put: [key], answer: key };
}

/** Renames a key. Revoked and expired keys can be renamed too, because lists show them. */
export function withName(keys: Keys, keyId: string, name: string): KeyChange<ApiKeyRecord> {
  const key = keyIn(keys, keyId);
  return key.name === name ? unchanged(key) : changed({ ...key, name });
}

/** Changes a key's scope. Throws `conflict` if the key is revoked or expired. */
export function withScope(
  keys: Keys,
  keyId: string,
  scope: KeyScope,
  nowMs: number,
): KeyChange<ApiKeyRecord> {
  const key = livingKeyIn(keys, keyId, nowMs);
  return key.scope === scope ? unchanged(key) : changed({ ...key, scope });
}

/** Revokes a key permanently. An already revoked key keeps its revocation time. */
export function withRevoked(keys: Keys, keyId: string, nowMs: number): KeyChange<ApiKeyRecord> {
  const key = keyIn(keys, keyId);
  if (key.revokedAtMs !== undefined) return unchanged(key);
  return changed({ ...key, revokedAtMs: nowMs });
}

/**
 * Disables a key until `withEnabled`. A key that is disabled already keeps its first disabling
 * time.
 */
export function withDisabled(keys: Keys, keyId: string, nowMs: number): KeyChange<ApiKeyRecord> {
  const key = livingKeyIn(keys, keyId, nowMs);
  if (key.disabledAtMs !== undefined) return unchanged(key);
  return changed({ ...key, disabledAtMs: nowMs });
}

/** Enables a disabled key. */
export function withEnabled(keys: Keys, keyId: string, nowMs: number): KeyChange<ApiKeyRecord> {
  const { disabledAtMs, ...enabled } = livingKeyIn(keys, keyId, nowMs);
  return disabledAtMs === undefined ? unchanged(enabled) : changed(enabled);
}

/**
 * Replaces a key by a new key with the same name, scope, networks and lifetime. The old key remains
 * usable for `graceMs`, but not beyond its expiry. Without a grace period, the old key is revoked.
 */
export function withRotated(
  keys: Keys,
  keyId: string,
  fresh: Pick<ApiKeyRecord, 'id' | 'digest' | 'hint' | 'createdBy'>,
  { graceMs, nowMs }: { readonly graceMs: number; readonly nowMs: number },
): KeyChange<Rotation> {
  const key = livingKeyIn(keys, keyId, nowMs);
  if (key.disabledAtMs !== undefined) {
    throw new Fault('conflict', 'the key is disabled; enable it first');
  }
  if (key.replacedBy !== undefined) {
    throw new Fault(
      'conflict',
      `the key was replaced by ${key.replacedBy}; rotate ${key.replacedBy}`,
    );
  }
  if (graceMs > 0) assertRoom(keys, nowMs);
  const { createdAtMs, expiresAtMs = Number.POSITIVE_INFINITY, createdBy: _, ...kept } = key;
  const lifeMs = expiresAtMs - createdAtMs;
  const made = { ...kept, ...fresh, createdAtMs: nowMs };
  const endsAtMs = Math.min(expiresAtMs, nowMs + graceMs);
  const end = graceMs > 0 ? { expiresAtMs: endsAtMs } : { revokedAtMs: nowMs };
  const answer = {
    made: lifeMs === Number.POSITIVE_INFINITY ? made : { ...made, expiresAtMs: nowMs + lifeMs },
    replaced: { ...key, ...end, replacedBy: fresh.id },
  };
  return { put: [answer.replaced, answer.made], answer };
}

function changed(key: ApiKeyRecord): KeyChange<ApiKeyRecord> {
  return { put: [key], answer: key };
}

function unchanged(key: ApiKeyRecord): KeyChange<ApiKeyRecord> {
  return { put: [], answer: key };
}

// Disabled keys count, so that enabling a key never exceeds the maximum.
function assertRoom(keys: Keys, nowMs: number): void {
  if (keys.filter((key) => keyEndsAtMs(key) > nowMs).length < USABLE_KEYS_MAX) return;
  throw new Fault('conflict', `the account has ${USABLE_KEYS_MAX} usable keys; revoke one`);
}

function keyIn(keys: Keys, keyId: string): ApiKeyRecord {
  const found = keys.find(({ id }) => id === keyId);
  if (found === undefined) throw new Fault('not_found', 'the account has no such key');
  return found;
}

/** A key that is neither revoked nor expired. */
function livingKeyIn(keys: Keys, keyId: string, nowMs: number): ApiKeyRecord {
  const key = keyIn(keys, keyId);
  if (nowMs < keyEndsAtMs(key)) return key;
  const what = key.revokedAtMs === undefined ? 'has expired' : 'is revoked';
  throw new Fault('conflict', `the key ${what}`);
}
