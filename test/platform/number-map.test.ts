import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { NumberMap } from '#platform/number-map';
import { collectYoung, liveHeapBytes } from '#test/support/garbage';

/** Keys as call ids are: in a row, in a row far up, of one half only, all with the same lower half. */
const KEYS = fc.oneof(
  fc.nat(30),
  fc.nat(30).map((n) => 2 ** 51 + n),
  fc.nat(2 ** 31 - 1).map((n) => n * 2 ** 22),
  fc.nat(30).map((n) => n * 2 ** 32),
);

/** What comes and goes while few are there at a time. */
const CHURN = 300_000;
const UNDER_WAY = 30;

/** What may be left of it after a small collection, in bytes; of a `Map` 33 MB are. */
const LEFT_BYTES_MAX = 4_000_000;

const numbers = suite('values by number');

numbers('are those that a Map would have, whatever comes and goes', () => {
  const step = fc.record({ key: KEYS, isSet: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 300 }), (steps) => {
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

numbers('are none at first', () => {
  const map = new NumberMap<object>();
  map.delete(7);
  assert.equal([map.size, map.get(0), map.get(2 ** 53 - 1)], [0, undefined, undefined]);
  assert.equal(map.values(), []);
});

numbers('go with the next small collection when they are forgotten', () => {
  const map = new NumberMap<object>();
  map.set(0, {});
  // Only what has grown old can hold on to what is young.
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
