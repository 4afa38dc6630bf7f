import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { compareCodePoints } from '#engine/json';

/** Any text, including lone surrogates: names are compared before they are validated. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom('a', 'é', '\ud7ff', '\uff5e', '\uffff', '\u{10000}', '\u{1f600}'),
  }),
);

const order = suite('the comparison of two texts');

order('follows their code points', () => {
  fc.assert(
    fc.property(text, text, (a, b) => {
      assert.is(Math.sign(compareCodePoints(a, b)), pointwise(a, b));
    }),
    { numRuns: 1_000 },
  );
});

order('is a total order', () => {
  const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
  const any = fc.string({ unit, maxLength: 6 });
  fc.assert(
    fc.property(any, any, any, (a, b, c) => {
      assert.is(Math.sign(compareCodePoints(a, b)), 0 - Math.sign(compareCodePoints(b, a)));
      assert.is(compareCodePoints(a, b) === 0, a === b);
      if (compareCodePoints(a, b) < 0 && compareCodePoints(b, c) < 0) {
        assert.ok(compareCodePoints(a, c) < 0);
      }
    }),
    { numRuns: 1_000 },
  );
});

for (const [before, after, why] of [
  ['', 'a', 'nothing comes first'],
  ['a', 'ab', 'a beginning comes before the whole'],
  ['B', 'a', 'capitals come before small letters'],
  ['z', 'é', 'letters are not collated'],
  ['\uff5e', '\u{1f600}', 'U+FF5E comes before U+1F600, though not by code unit'],
  ['\ud7ff', '\ue000', 'the last before the surrogates comes before the first after them'],
  ['\uffff', '\u{10000}', 'the last of one unit comes before the first of two'],
] as const) {
  order(`${why}`, () => {
    assert.ok(compareCodePoints(before, after) < 0);
    assert.ok(compareCodePoints(after, before) > 0);
  });
}

/** Reference: compares arrays of code points. */
function pointwise(a: string, b: string): number {
  const [left, right] = [a, b].map((one) =>
    Array.from(one, (letter) => letter.codePointAt(0) ?? 0),
  );
  for (const [index, point] of (left ?? []).entries()) {
    const other = right?.[index];
    if (other === undefined) return 1;
    if (point !== other) return Math.sign(point - other);
  }
  return Math.sign((left?.length ?? 0) - (right?.length ?? 0));
}

order.run();
