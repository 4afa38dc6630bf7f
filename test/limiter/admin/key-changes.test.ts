import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ApiKeyRecord } from '#accounts/account';
import { Fault } from '#errors/fault';
import * as changes from '#limiter/keys/changes';
import type { KeyChange } from '#storage/ports/accounts';

const NOW_MS = 1_000_000;
const HOUR_MS = 3_600_000;
const FRESH = { id: 'key_new', digest: 'digest new', hint: 'ab12' };

const KEY: ApiKeyRecord = { id: 'key_1', digest: 'digest 1', scope: 'read', createdAtMs: 5 };
const EXPIRED = { ...KEY, expiresAtMs: NOW_MS };
const REVOKED = { ...KEY, revokedAtMs: 7 };
const DISABLED = { ...KEY, disabledAtMs: 7 };

const ended = suite('a key');

for (const [what, key] of [
  ['is revoked', REVOKED],
  ['has expired', EXPIRED],
] as const) {
  ended(`that ${what} can be neither disabled, enabled nor rotated`, () => {
    conflicts(what, () => changes.withDisabled([key], key.id, NOW_MS));
    conflicts(what, () => changes.withEnabled([{ ...key, disabledAtMs: 7 }], key.id, NOW_MS));
    conflicts(what, () => rotated([key]));
  });

  ended(`that ${what} can be renamed`, () => {
    const change = changes.withName([key], key.id, 'old');
    assert.equal(change, put({ ...key, name: 'old' }));
  });
}

ended('keeps its first revocation time, and can be revoked after its expiry', () => {
  assert.equal(changes.withRevoked([REVOKED], KEY.id, NOW_MS), nothing(REVOKED));
  assert.equal(
    changes.withRevoked([EXPIRED], KEY.id, NOW_MS),
    put({ ...EXPIRED, revokedAtMs: NOW_MS }),
  );
});

const living = suite('a usable key');

living('can be disabled and enabled, and repeating either changes nothing', () => {
  assert.equal(changes.withDisabled([KEY], KEY.id, 7), put(DISABLED));
  assert.equal(changes.withDisabled([DISABLED], KEY.id, NOW_MS), nothing(DISABLED));
  assert.equal(changes.withEnabled([DISABLED], KEY.id, NOW_MS), put(KEY));
  assert.equal(changes.withEnabled([KEY], KEY.id, NOW_MS), nothing(KEY));
});

living('does not change if it gets the same name', () => {
  const named = { ...KEY, name: 'CI' };
  assert.equal(changes.withName([named], KEY.id, 'CI'), nothing(named));
});

living('is not changed if the account has no key with the requested id', () => {
  for (const change of [
    () => changes.withName([KEY], 'key_2', 'CI'),
    () => changes.withRevoked([KEY], 'key_2', NOW_MS),
    () => changes.withDisabled([KEY], 'key_2', NOW_MS),
    () => changes.withEnabled([KEY], 'key_2', NOW_MS),
    () => rotated([KEY], 0, 'key_2'),
  ]) {
    assert.is(faultOf(change).code, 'not_found');
  }
});

const rotation = suite('the rotation of a key');

rotation('creates a key with the same name, scope and networks', () => {
  const named = { ...KEY, name: 'CI', hint: 'old1', networks: ['10.0.0.0/8'] };
  const { put: stored, answer } = rotated([named], HOUR_MS);
  const made = { ...named, ...FRESH, createdAtMs: NOW_MS };
  const replaced = { ...named, expiresAtMs: NOW_MS + HOUR_MS, replacedBy: FRESH.id };
  assert.equal(answer, { made, replaced });
  assert.equal(stored, [replaced, made]);
});

rotation('keeps the old key for the grace period, but not beyond its expiry', () => {
  const soon = { ...KEY, expiresAtMs: NOW_MS + 9 };
  assert.is(rotated([soon], HOUR_MS).answer.replaced.expiresAtMs, NOW_MS + 9);
  const late = { ...KEY, expiresAtMs: NOW_MS + 9 * HOUR_MS };
  assert.is(rotated([late], HOUR_MS).answer.replaced.expiresAtMs, NOW_MS + HOUR_MS);
});

rotation('gives the new key the same lifetime as the old key', () => {
  const key = { ...KEY, createdAtMs: NOW_MS - 5, expiresAtMs: NOW_MS + 5 };
  assert.is(rotated([key], HOUR_MS).answer.made.expiresAtMs, NOW_MS + 10);
  assert.is(rotated([KEY], HOUR_MS).answer.made.expiresAtMs, undefined);
});

rotation('revokes the old key if there is no grace period', () => {
  const { answer } = rotated([KEY], 0);
  assert.equal(answer.replaced, { ...KEY, revokedAtMs: NOW_MS, replacedBy: FRESH.id });
});

rotation('is refused for a key that is disabled or was rotated', () => {
  conflicts('disabled', () => rotated([DISABLED]));
  conflicts('replaced by key_9', () => rotated([{ ...KEY, replacedBy: 'key_9' }]));
});

const room = suite('the maximum number of usable keys');

const TWENTY = Array.from({ length: 20 }, (_, i) => ({ ...KEY, id: `key_${i}`, digest: `d ${i}` }));

room('includes disabled keys, but no revoked or expired keys', () => {
  const more = { ...KEY, ...FRESH };
  conflicts('20 usable keys', () => changes.withKey(TWENTY, more, NOW_MS));
  const [first = KEY, ...others] = TWENTY;
  for (const gone of [{ revokedAtMs: 1 }, { expiresAtMs: NOW_MS }]) {
    assert.equal(changes.withKey([{ ...first, ...gone }, ...others], more, NOW_MS), put(more));
  }
  conflicts('20', () => changes.withKey([{ ...first, disabledAtMs: 1 }, ...others], more, NOW_MS));
});

room('prevents a rotation with a grace period, but allows a rotation without', () => {
  conflicts('20 usable keys', () => rotated(TWENTY, HOUR_MS));
  assert.is(rotated(TWENTY, 0).answer.made.id, FRESH.id);
});

for (const each of [ended, living, rotation, room]) each.run();

function rotated(keys: readonly ApiKeyRecord[], graceMs = 0, keyId = KEY.id) {
  return changes.withRotated(keys, keyId, FRESH, { graceMs, nowMs: NOW_MS });
}

function put(key: ApiKeyRecord): KeyChange<ApiKeyRecord> {
  return { put: [key], answer: key };
}

function nothing(key: ApiKeyRecord): KeyChange<ApiKeyRecord> {
  return { put: [], answer: key };
}

function faultOf(change: () => unknown): Fault {
  try {
    change();
  } catch (refusal) {
    if (refusal instanceof Fault) return refusal;
    throw refusal;
  }
  throw new Error('the change was not refused');
}

function conflicts(text: string, change: () => unknown): void {
  const { code, message } = faultOf(change);
  assert.is(code, 'conflict');
  assert.ok(message.includes(text), message);
}
