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
  ['', 'a', 'puts the empty text first'],
  ['a', 'ab', 'puts a prefix before the longer text'],
  ['B', 'a', 'puts capital letters before small letters'],
  ['z', 'é', 'does not collate accented letters'],
  ['\uff5e', '\u{1f600}', 'puts U+FF5E before U+1F600, unlike UTF-16'],
  ['\ud7ff', '\ue000', 'puts U+D7FF before U+E000, which are the neighbours of the surrogates'],
  ['\uffff', '\u{10000}', 'puts U+FFFF before U+10000, which needs a surrogate pair'],
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
