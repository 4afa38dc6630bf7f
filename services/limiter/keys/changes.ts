import { type ApiKeyRecord, keyEndsAtMs } from '#accounts/account';
import type { KeyScope } from '#accounts/api-key';
import { Fault } from '#fault/fault';
import { USABLE_KEYS_MAX } from '#limiter/bounds';
import type { KeyChange } from '#storage/ports/accounts';

/*
 * What may become of an account's keys, as functions of the keys and the time, for
 * `AccountStore.changeKeys`. Each answers the key as it then is, changes nothing where it is so
 * already, and throws `not_found` for a key that is not there and `conflict` for a change that makes
 * no sense. Source: decision 242.
 */

type Keys = readonly ApiKeyRecord[];

/** What a rotation makes: the key, and what becomes of the one whose place it takes. */
export type Rotation = { readonly made: ApiKeyRecord; readonly replaced: ApiKeyRecord };

/** A key more. Throws `conflict` if the account has as many as it may have. */
export function withKey(keys: Keys, key: ApiKeyRecord, nowMs: number): KeyChange<ApiKeyRecord> {
  assertRoom(keys, nowMs);
  return { put: [key], answer: key };
}

/** A key with another name, whatever has become of it: it is still listed. */
export function withName(keys: Keys, keyId: string, name: string): KeyChange<ApiKeyRecord> {
  const key = keyIn(keys, keyId);
  return key.name === name ? unchanged(key) : changed({ ...key, name });
}

/** A key with another scope, while the key has not come to its end. */
export function withScope(
  keys: Keys,
  keyId: string,
  scope: KeyScope,
  nowMs: number,
): KeyChange<ApiKeyRecord> {
  const key = livingKeyIn(keys, keyId, nowMs);
  return key.scope === scope ? unchanged(key) : changed({ ...key, scope });
}

/** A revoked key, for good. One that is revoked already keeps its first time. */
export function withRevoked(keys: Keys, keyId: string, nowMs: number): KeyChange<ApiKeyRecord> {
  const key = keyIn(keys, keyId);
  if (key.revokedAtMs !== undefined) return unchanged(key);
  return changed({ ...key, revokedAtMs: nowMs });
}

/** A key that is refused until it is enabled. One that is disabled already keeps its first time. */
export function withDisabled(keys: Keys, keyId: string, nowMs: number): KeyChange<ApiKeyRecord> {
  const key = livingKeyIn(keys, keyId, nowMs);
  if (key.disabledAtMs !== undefined) return unchanged(key);
  return changed({ ...key, disabledAtMs: nowMs });
}

/** A key that is no longer disabled. */
export function withEnabled(keys: Keys, keyId: string, nowMs: number): KeyChange<ApiKeyRecord> {
  const { disabledAtMs, ...enabled } = livingKeyIn(keys, keyId, nowMs);
  return disabledAtMs === undefined ? unchanged(enabled) : changed(enabled);
}

/**
 * A key that takes the place of another one: with its name, scope and networks, and with the same
 * length of life if that has an end. The other one is let in for `graceMs` more, and no longer than
 * it would be anyway; without a grace period it is revoked.
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
    throw new Fault('conflict', `the key was replaced by ${key.replacedBy}; rotate that one`);
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

// Disabled ones count: enabling one must not need room.
function assertRoom(keys: Keys, nowMs: number): void {
  if (keys.filter((key) => keyEndsAtMs(key) > nowMs).length < USABLE_KEYS_MAX) return;
  throw new Fault('conflict', `the account has ${USABLE_KEYS_MAX} usable keys; revoke one`);
}

function keyIn(keys: Keys, keyId: string): ApiKeyRecord {
  const found = keys.find(({ id }) => id === keyId);
  if (found === undefined) throw new Fault('not_found', 'the account has no such key');
  return found;
}

/** A key that has not come to its end. */
function livingKeyIn(keys: Keys, keyId: string, nowMs: number): ApiKeyRecord {
  const key = keyIn(keys, keyId);
  if (nowMs < keyEndsAtMs(key)) return key;
  const what = key.revokedAtMs === undefined ? 'has expired' : 'is revoked';
  throw new Fault('conflict', `the key ${what}`);
}
