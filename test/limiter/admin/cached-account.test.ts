import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ApiKeyRecord } from '#accounts/account';
import { digestOf } from '#accounts/api-key';
import {
  CachedAccount,
  firstExpiryOf,
  isUnplaced,
  keyInRing,
  keyRing,
  mayComeFrom,
  usableOf,
} from '#limiter/keys/usable-keys';
import { custom, record } from '#test/limiter/limiter-fixture';

const NOW_MS = Date.UTC(2026, 0, 15, 12);

const at = (monotonicMs: number, wallMs = NOW_MS) => ({ wallMs, monotonicMs });

const age = suite('the age of a cached account');

age('starts with the read, not with the first use', () => {
  const cached = new CachedAccount(record(custom(1, 1)), at(5_000.7));
  assert.is(cached.isStale(at(35_000), 30_000), false);
  assert.is(
    cached.isStale(at(35_000.5), 30_000),
    true,
    'fractions of a millisecond are rounded towards stale',
  );
  assert.is(cached.isStale(at(35_001), 30_000), true);
  assert.is(cached.isStale(at(20_001), 15_000), true);
  cached.refresh(record(custom(1, 1)), at(32_000));
  assert.is(cached.isStale(at(62_000), 30_000), false);
  assert.is(cached.isStale(at(62_001), 30_000), true);
});

age('is irrelevant after an invalidation, until the next read', () => {
  const cached = new CachedAccount(record(custom(1, 1)), at(0));
  cached.invalidate();
  assert.is(cached.isStale(at(0), 30_000), true);
  cached.refresh(record(custom(1, 1)), at(0));
  assert.is(cached.isStale(at(0), 30_000), false);
});

const content = suite('a cached account');

content('is the result of the last read', () => {
  const cached = new CachedAccount(undefined, at(0));
  assert.equal([cached.isAbsent, cached.isSuspended, cached.keyBytes], [true, false, 0]);
  assert.equal(cached.limits, { requestsPerMinute: 0, cyclesPerMonth: 0, instances: 0 });
  assert.is(cached.keyWith(digestOf('key'), NOW_MS)?.scope, undefined);
  cached.refresh(record(custom(3, 7), { status: 'suspended' }), at(0));
  assert.equal([cached.isAbsent, cached.isSuspended, cached.keyBytes], [false, true, 168]);
  const limits = { requestsPerMinute: 3, cyclesPerMonth: 7, instances: 1_000_000 };
  assert.equal(cached.limits, limits);
  assert.is(cached.keyWith(digestOf('key'), NOW_MS)?.scope, 'full');
  cached.refresh(record(custom(3, 7)), at(0));
  assert.is(cached.isSuspended, false);
});

content('has an edition number that changes with each announcement and each read', () => {
  const cached = new CachedAccount(record(custom(1, 1)), at(0));
  const editions = [cached.edition];
  cached.invalidate();
  editions.push(cached.edition);
  cached.refresh(record(custom(1, 1)), at(0));
  editions.push(cached.edition);
  assert.is(new Set(editions).size, 3);
});

const replanned = suite('a scheduled plan change');

replanned('takes effect at its time, without a read', () => {
  const limits = { requestsPerMinute: 2, cyclesPerMonth: 5, instances: 4 };
  const planChange = { plan: 'free', limits, atMs: NOW_MS + 10, from: 'enterprise' } as const;
  const found = record(custom(3, 7), { planChange });
  const cached = new CachedAccount(found, at(0));
  cached.bringUpTo(NOW_MS + 9);
  assert.is(cached.limits.requestsPerMinute, 3);
  cached.bringUpTo(NOW_MS + 10);
  assert.equal(cached.limits, limits);
  cached.bringUpTo(NOW_MS);
  assert.equal(cached.limits, limits, 'a clock that steps back does not restore the old plan');
  cached.refresh(found, at(0));
  assert.is(cached.limits.requestsPerMinute, 3, 'the next read restores the old plan');
  cached.refresh(found, at(0, NOW_MS + 10));
  assert.equal(cached.limits, limits, 'a later read returns the new plan');
  cached.refresh(record(custom(3, 7)), at(0));
  cached.bringUpTo(NOW_MS + 10);
  assert.is(cached.limits.requestsPerMinute, 3, 'a cancelled change has no effect');
});

const expired = suite('a key that expires');

expired('is removed from memory at its expiry, and other keys remain', () => {
  const keys = [key('first', 1), key('never'), key('later', 2)];
  const cached = new CachedAccount({ ...record(custom(1, 1)), keys }, at(0));
  const states = [0, 1, 2].map((ms) => {
    const scopes = keys.map(({ id }) => cached.keyWith(digestOf(id), NOW_MS + ms)?.scope);
    return [...scopes, cached.keyBytes];
  });
  assert.equal(states, [
    ['full', 'full', 'full', 504],
    [undefined, 'full', 'full', 336],
    [undefined, 'full', undefined, 168],
  ]);
});

expired('is not cached by a read after its expiry', () => {
  const keys = [key('deleted', 0), key('revoked'), key('there', 1)];
  keys[1] = { ...key('revoked'), revokedAtMs: NOW_MS + 5 };
  const cached = new CachedAccount({ ...record(custom(1, 1)), keys }, at(0));
  assert.is(cached.keyBytes, 168);
  assert.is(cached.keyWith(digestOf('there'), NOW_MS)?.scope, 'full');
});

const ring = suite('the usable keys of an account');

ring('exclude revoked and expired keys, and have the fields needed for checks', () => {
  const held = keyRing([key('a', 1), { ...key('b'), revokedAtMs: NOW_MS + 9 }, key('c')], NOW_MS);
  assert.equal(held, [
    { digest: digestOf('a'), scope: 'full', expiresAtMs: NOW_MS + 1, networks: undefined },
    { digest: digestOf('c'), scope: 'full', expiresAtMs: undefined, networks: undefined },
  ]);
  assert.equal(keyRing([key('a', 0), key('b', -1)], NOW_MS), []);
});

ring('exclude a disabled key', () => {
  const held = keyRing([{ ...key('a'), disabledAtMs: NOW_MS - 1 }, key('b')], NOW_MS);
  assert.is(keyInRing(held, digestOf('a')), undefined);
  assert.is(keyInRing(held, digestOf('b'))?.scope, 'full');
});

ring('accept a key with networks only from these networks, in any address notation', () => {
  const [held] = keyRing([{ ...key('a'), networks: ['10.0.0.0/8', '2001:db8::/32'] }], NOW_MS);
  assert.ok(held);
  for (const inside of ['10.1.2.3', '::ffff:10.1.2.3', '10.1.2.3:80', '2001:db8::1']) {
    assert.ok(mayComeFrom(held, inside), inside);
  }
  for (const outside of ['11.0.0.1', '::ffff:11.0.0.1', '::10.1.2.3', '2001:db9::1', 'x', '']) {
    assert.not.ok(mayComeFrom(held, outside), outside);
  }
  const [broken] = keyRing([{ ...key('a'), networks: ['nowhere'] }], NOW_MS);
  assert.ok(broken && !mayComeFrom(broken, '10.1.2.3'), 'an invalid network admits no address');
  assert.ok(isUnplaced(held, undefined) && isUnplaced(held, ''));
  const [free] = keyRing([key('a')], NOW_MS);
  assert.ok(free && mayComeFrom(free, undefined) && !isUnplaced(free, undefined));
});

ring('exclude keys with a scope of a later release', () => {
  const later = { ...key('a'), scope: 'events' } as unknown as ApiKeyRecord;
  const held = keyRing([later, key('b')], NOW_MS);
  assert.equal(
    [digestOf('a'), digestOf('b')].map((one) => keyInRing(held, one)?.scope),
    [undefined, 'full'],
  );
});

ring('lose each key at its expiry', () => {
  const held = keyRing([key('a', 1), key('b', 2), key('c')], NOW_MS);
  const digests = (ms: number) => usableOf(held, NOW_MS + ms).map(({ digest }) => digest);
  assert.equal(digests(0), [digestOf('a'), digestOf('b'), digestOf('c')]);
  assert.equal(digests(1), [digestOf('b'), digestOf('c')]);
  assert.equal(digests(2), [digestOf('c')]);
});

ring('report the earliest expiry among the keys', () => {
  const first = (...keys: ApiKeyRecord[]) => firstExpiryOf(keyRing(keys, NOW_MS));
  assert.is(first(), undefined);
  assert.is(first(key('a')), undefined);
  assert.is(first(key('a'), key('b', 7), key('c', 5), key('d', 6)), NOW_MS + 5);
});

ring('are found only by their whole digest', () => {
  const held = keyRing([key('a'), { ...key('b'), scope: 'read' }], NOW_MS);
  assert.is(keyInRing(held, digestOf('a'))?.scope, 'full');
  assert.is(keyInRing(held, digestOf('b'))?.scope, 'read');
  assert.is(keyInRing(held, `${digestOf('b')}A`)?.scope, undefined);
  assert.is(keyInRing(held, digestOf('b').slice(0, 42))?.scope, undefined);
  assert.is(keyInRing(held, digestOf('c'))?.scope, undefined);
  assert.is(keyInRing([], digestOf('a'))?.scope, undefined);
});

ring('are compared by whole characters, not only by low bytes', () => {
  const held = keyRing([key('a')], NOW_MS);
  const digest = digestOf('a');
  const others = [digest.charCodeAt(42) + 0x100, 'é'.charCodeAt(0), 0x20ac];
  for (const code of others) {
    assert.is(keyInRing(held, digest)?.scope, 'full');
    assert.is(keyInRing(held, digest.slice(0, 42) + String.fromCharCode(code))?.scope, undefined);
  }
});

/**
 * A key with scope `full`, the given id, and the digest of the id. The key expires after `leftMs`,
 * if given.
 */
function key(id: string, leftMs?: number): ApiKeyRecord {
  const always = { id, digest: digestOf(id), scope: 'full', createdAtMs: 0 } as const;
  return leftMs === undefined ? always : { ...always, expiresAtMs: NOW_MS + leftMs };
}

for (const each of [age, content, replanned, expired, ring]) each.run();
