import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf } from '#accounts/api-key';
import { KeyCounts } from '#limiter/meter/usage';
import { COUNTED_KEYS_MAX } from '#limiter/quota-bounds';
import { admission, custom, meterUnderTest, record } from '#test/limiter/limiter-fixture';

const DAY_MS = 24 * 60 * 60 * 1_000;
const JANUARY_ENDS_MS = Date.UTC(2026, 1, 1);
const KEYS = ['one', 'two'];

const counts = suite('the usage by key of an account');

counts('lists used keys, in order of their first use', () => {
  const keys = new KeyCounts();
  assert.is(keys.stored, undefined);
  const [one, two] = KEYS.map(digestOf);
  keys.of(`${two}`).add(5, 3);
  keys.of(`${one}`).add(1, 3);
  keys.turnDay(4);
  keys.of(`${two}`).add(2, 4);
  assert.equal(keys.stored, [
    { prefix: two?.slice(0, 8), cycles: 7, days: [3, 5] },
    { prefix: one?.slice(0, 8), cycles: 1, days: [3, 1] },
  ]);
  const next = new KeyCounts();
  next.restore(keys.stored, 6);
  next.of(`${one}`).add(1, 6);
  assert.equal(next.stored?.[1], { prefix: one?.slice(0, 8), cycles: 2, days: [3, 1, 1, 1] });
});

counts('is bounded: a new key replaces the least used key', () => {
  const keys = new KeyCounts();
  const digests = Array.from({ length: COUNTED_KEYS_MAX }, (_, i) => digestOf(`key ${i}`));
  for (const [index, digest] of digests.entries()) keys.of(digest).add(index === 7 ? 1 : 9, 0);
  keys.of(digestOf('new')).add(2, 0);
  assert.is(keys.stored?.length, COUNTED_KEYS_MAX);
  const prefixes = keys.stored?.map(({ prefix }) => prefix) ?? [];
  assert.not.ok(prefixes.includes(digests[7]?.slice(0, 8) ?? ''));
  assert.is(prefixes.at(-1), digestOf('new').slice(0, 8));
});

/** A meter of an account with two keys. `used` returns the usage of each key from day 15 on. */
function twoKeys() {
  let meter = meterUnderTest(custom(1_000, 100_000), undefined, KEYS);
  let calls = 0;
  return {
    get now() {
      return meter;
    },
    spend(key: string, cycles: number, uses = cycles): void {
      calls += 1;
      meter.admit(calls, cycles, 0, key);
      meter.settle(calls, uses);
    },
    next(): void {
      meter = meter.next();
    },
    used(): (readonly number[])[] {
      const usage = meter.meter.usage(meter.now());
      return KEYS.map((key) => {
        const known = usage?.keys.find(({ prefix }) => digestOf(key).startsWith(prefix));
        return known?.cyclesByDay.slice(14) ?? [];
      });
    },
  };
}

const meters = suite('a meter');

meters('charges the key of a call, on the day of the settlement', () => {
  const account = twoKeys();
  account.spend('one', 9, 7);
  account.now.clock.advance(DAY_MS);
  account.spend('two', 20);
  account.spend('one', 1);
  assert.equal(account.used(), [
    [7, 1],
    [0, 20],
  ]);
  account.now.close();
  account.next();
  account.now.clock.advance(DAY_MS);
  account.spend('two', 4);
  assert.equal(account.used(), [
    [7, 1, 0],
    [0, 20, 4],
  ]);
});

meters('charges a shared reservation to the key of its first call', () => {
  const account = twoKeys();
  account.now.admit(1, 5, 0, 'one');
  account.now.admit(1, 5, 0, 'two');
  account.now.settle(1, 5);
  account.now.settle(1, 5);
  assert.equal(account.used(), [[5], []]);
});

meters('charges a reservation that grows in the next month to the key of the later call', () => {
  const account = twoKeys();
  account.now.clock.advance(JANUARY_ENDS_MS - account.now.clock.wallMs() - 10_000);
  account.now.admit(1, 5, 0, 'one');
  account.now.clock.advance(20_000);
  account.now.admit(1, 5, 0, 'two');
  account.now.settle(1, 5);
  account.now.settle(1, 5);
  const { keys } = account.now.meter.usage(account.now.now()) ?? {};
  assert.equal(keys, [{ prefix: digestOf('two').slice(0, 8), cyclesByDay: [5] }]);
});

meters('charges no key for calls of members', () => {
  const account = twoKeys();
  const { meter, turn, now, settle } = account.now;
  meter.answer({ ...admission(1, 5, ''), isOfMember: true }, turn());
  settle(1, 5);
  const usage = meter.usage(now());
  assert.equal([usage?.cyclesUsed, usage?.keys], [5, []]);
});

meters(
  'charges calls to their keys even if the calls are settled or expire at a later owner',
  () => {
    const account = twoKeys();
    account.now.admit(1, 5, 0, 'one');
    account.now.admit(2, 6, 0, 'two');
    account.now.close();
    account.next();
    account.now.settle(1, 3);
    account.now.clock.advance(61_000);
    assert.equal(account.used(), [[3], [6]]);
  },
);

meters('charges no key for cycles lost in a crash', () => {
  const account = twoKeys();
  account.spend('one', 5);
  account.next();
  const { meter, now } = account.now;
  const usage = meter.usage(now());
  assert.ok((usage?.cyclesLost ?? 0) > 0);
  assert.equal(usage?.keys, []);
});

meters('keeps the usage of a revoked key', () => {
  const account = twoKeys();
  account.spend('one', 5);
  account.now.refresh({ ...record(custom(1_000, 100_000), {}, ['two']) });
  account.spend('two', 1);
  assert.equal(account.used(), [[5], [1]]);
});

for (const part of [counts, meters]) part.run();
