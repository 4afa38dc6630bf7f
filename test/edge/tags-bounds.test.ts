import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Tags, tagFieldsOf } from '#edge/schemas/instance';

/** A character of one or two UTF-16 units, or a character that no tag may have. */
const character = fc.oneof(
  { weight: 40, arbitrary: fc.constantFrom('a', 'é', '"', '\n', '語', '😀', '𝔘') },
  { weight: 1, arbitrary: fc.constantFrom('\0', '\ud800', '\udc00') },
);

/** Text whose length is often at a bound. */
const textAround = (bound: number) =>
  fc.oneof(
    fc.string({ unit: character, maxLength: 3 }),
    fc.string({ unit: fc.constantFrom('a', '😀'), minLength: bound - 1, maxLength: bound + 1 }),
  );

const few = fc.uniqueArray(fc.tuple(textAround(64), textAround(256)), {
  selector: ([key]) => key,
  maxLength: 5,
});

const many = fc
  .uniqueArray(fc.integer(), { minLength: 15, maxLength: 18 })
  .map((keys) => keys.map((key): [string, string] => [String(key), '']));

/** Tags with texts around their bounds, and allowed tags around the bound of their number. */
const pairs = fc.oneof(few, many);

/** The rule of interface 2.4, counted by code points. */
function isAllowed(given: readonly (readonly [string, string])[]): boolean {
  const isText = (text: string, max: number) =>
    [...text].length <= max && !/\p{Surrogate}|\0/u.test(text);
  const arePairs = given.every(
    ([key, value]) => key !== '' && isText(key, 64) && isText(value, 256),
  );
  return arePairs && given.length <= 16;
}

const bounds = suite('the schema of tags');

bounds('accepts exactly the tags of interface 2.4, and keeps them', () => {
  const seen = { accepted: 0, refused: 0 };
  const property = fc.property(pairs, (given) => {
    const tags = Object.fromEntries(given);
    const { success, data } = Tags.safeParse(tags);
    assert.is(success, isAllowed(given), JSON.stringify(given));
    seen[success ? 'accepted' : 'refused'] += 1;
    if (success) assert.equal(JSON.parse(tagFieldsOf(data).tagsJson ?? ''), tags);
  });
  fc.assert(property, { numRuns: 500 });
  assert.ok(seen.accepted > 50 && seen.refused > 50, JSON.stringify(seen));
});

bounds.run();
