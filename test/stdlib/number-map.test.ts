import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { NumberMap } from '#stdlib/hash-map';
import { collectYoung, liveHeapBytes } from '#test/support/garbage';

/**
 * Keys like call ids: consecutive, consecutive at high values, in one half only, or with equal
 * lower halves.
 */
const KEYS = fc.oneof(
  fc.nat(30),
  fc.nat(30).map((n) => 2 ** 51 + n),
  fc.nat(2 ** 31 - 1).map((n) => n * 2 ** 22),
  fc.nat(30).map((n) => n * 2 ** 32),
);

/** Number of insertions, each of which is later deleted. */
const CHURN = 300_000;
/** Number of entries in the map at a time. */
const UNDER_WAY = 30;

/** Maximum bytes left after a minor collection. A `Map` leaves 33 MB. */
const LEFT_BYTES_MAX = 4_000_000;

/** Scattered keys with colliding slots. */
const SCATTERED = Array.from({ length: 64 }, (_, n) => Math.imul(n + 1, 0x2545_f491) >>> 0);

/** Number of keys that would take minutes if a search began far from the home slot of its key. */
const CROWD = 100_000;

const numbers = suite('the values of a NumberMap');

numbers('match the values of a Map after any operations', () => {
  const step = fc.record({ key: KEYS, isSet: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 300, size: 'max' }), (steps) => {
      const expected = new Map<number, object>();
      const actual = new NumberMap<object>();
      for (const { key, isSet } of steps) {
        const value = { key };
        if (isSet) expected.set(key, value);
        else expected.delete(key);
        if (isSet) actual.set(key, value);
        else actual.delete(key);
        assert.is(actual.size, expected.size);
        for (const [known, itsValue] of expected) assert.is(actual.get(known), itsValue);
        assert.is(actual.get(key), expected.get(key));
      }
      assert.equal(new Set(actual.values()), new Set(expected.values()));
      assert.is(actual.values().length, expected.size);
    }),
    { numRuns: 300 },
  );
});

numbers('are found behind deleted entries', () => {
  // At half load, runs of occupied slots are long, and each deletion must close its gap.
  const steps = fc.array(fc.constantFrom(...SCATTERED), { minLength: 200, maxLength: 400 });
  fc.assert(
    fc.property(steps, (keys) => {
      const expected = new Map<number, object>();
      const actual = new NumberMap<object>();
      for (const key of keys) {
        const value = { key };
        if (expected.delete(key)) actual.delete(key);
        else {
          expected.set(key, value);
          actual.set(key, value);
        }
        for (const known of SCATTERED) assert.is(actual.get(known), expected.get(known));
      }
    }),
    { numRuns: 50 },
  );
});

for (const [what, factor] of [
  ['with consecutive numbers', 1],
  ['with the same lower half', 2 ** 32],
] as const) {
  numbers(`of many keys ${what} are added and removed one by one without a leak`, () => {
    const before = liveHeapBytes();
    const map = new NumberMap<object>();
    const value = {};
    for (let n = 1; n <= CROWD; n += 1) map.set(n * factor, value);
    assert.is(map.size, CROWD);
    assert.is(map.values().length, CROWD);
    for (let n = 1; n < CROWD; n += 1) {
      map.delete(n * factor);
      assert.is(map.get(n * factor), undefined);
      assert.is(map.get((n + 1) * factor), value);
    }
    map.delete(CROWD * factor);
    assert.equal([map.size, map.values()], [0, []]);
    const left = liveHeapBytes() - before;
    assert.ok(left < LEFT_BYTES_MAX / 2, `${left} bytes are left`);
    map.set(factor, value);
    assert.is(map.get(factor), value, 'an emptied map can be filled again');
  });
}

numbers('are empty at first', () => {
  const map = new NumberMap<object>();
  map.delete(7);
  assert.equal([map.size, map.get(0), map.get(2 ** 53 - 1)], [0, undefined, undefined]);
  assert.equal(map.values(), []);
});

numbers('are freed by the next minor collection after their deletion', () => {
  const map = new NumberMap<object>();
  map.set(0, {});
  // Only an object in the old generation can retain a young object.
  const before = liveHeapBytes();
  for (let key = 1; key < CHURN; key += 1) {
    map.set(key, { key, text: `${key}` });
    map.delete(Math.max(0, key - UNDER_WAY));
  }
  collectYoung();
  const left = process.memoryUsage().heapUsed - before;
  assert.ok(left < LEFT_BYTES_MAX, `${left} bytes are left`);
});

numbers.run();
