import fc from 'fast-check';

/** Insignificant whitespace. */
const space = fc.constantFrom('', ' ', '\n', '\t \r');

/** Numbers in callers' notations. JavaScript would round or reformat most such numbers. */
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

/** Object keys. Parsers reorder some keys, and `\u0062c` has an escape. */
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

/** A JSON object as text, in notations that JavaScript would not print. */
export const arbitraryJsonObject = object;

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g;

/** Tokens in a JSON text, with decoded strings. Texts with the same meaning have equal tokens. */
export function jsonTokens(text: string): string[] {
  return [...text.matchAll(TOKEN)].map(([token]) =>
    token.startsWith('"') ? `"${JSON.parse(token)}` : token,
  );
}
