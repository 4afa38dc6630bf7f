import fc from 'fast-check';

/** Whitespace that means nothing. */
const space = fc.constantFrom('', ' ', '\n', '\t \r');

/** Numbers as callers write them: many of them no double, or not as JavaScript prints it. */
const number = fc.oneof(
  fc.constantFrom('0', '-0', '1.0', '1e20', '1E+05', '-1.50e-3', '12345678901234567890'),
  fc.stringMatching(/^-?[1-9][0-9]{0,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?$/),
);
const string = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 6 }).map((text) => JSON.stringify(text)),
  fc.constantFrom(
    '"\\u0041\\/"',
    '"\\ud83d\\ude00"',
    '"]}, {\\"context\\":1"',
    '"\\\\"',
    '"  "',
    '"é"',
  ),
);

/** Keys of one object: some are reordered by a parser's objects, one is written in another way. */
const KEYS = ['10', '2', '01', '-1', '', 'b', 'a', '\\u0062c', 'context', 'observations', ' é '];

const { object } = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, depthSize: 'small' },
    fc.oneof(number, string, fc.constantFrom('true', 'false', 'null')),
    tie('object'),
    fc.tuple(fc.array(tie('value'), { maxLength: 4 }), space).map(([items, gap]) => {
      return `[${gap}${items.join(`${gap},${gap}`)}${gap}]`;
    }),
  ),
  object: fc
    .tuple(fc.shuffledSubarray(KEYS, { maxLength: 6 }), fc.array(tie('value'), fullOf(6)), space)
    .map(([keys, values, gap]) => {
      const members = keys.map((key, i) => `"${key}"${gap}:${gap}${values[i] ?? 'null'}`);
      return `{${gap}${members.join(`${gap},${gap}`)}${gap}}`;
    }),
}));

function fullOf(length: number) {
  return { minLength: length, maxLength: length };
}

/** JSON text of an object, as a caller might write it: not as JavaScript would. */
export const arbitraryJsonObject = object;

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g;

/** The tokens of JSON text, its strings as what they say: equal if two texts mean the same. */
export function jsonTokens(text: string): string[] {
  return [...text.matchAll(TOKEN)].map(([token]) =>
    token.startsWith('"') ? `"${JSON.parse(token)}` : token,
  );
}
