import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseJsonBody } from '#edge/serve/json';
import { Fault } from '#errors/fault';

const parse = (text: string) => parseJsonBody(Buffer.from(text));
const reasonFor = (text: string | Buffer) => {
  try {
    parseJsonBody(Buffer.from(text));
  } catch (error) {
    if (error instanceof Fault) return error.reason;
    throw error;
  }
  return undefined;
};

const right = suite('a valid JSON body');

right('is parsed as JSON.parse does', () => {
  const deep = { maxDepth: 5, noUnicodeString: false };
  void fc.assert(
    fc.property(fc.json(deep), (text) => {
      fc.pre(!/__proto__|prototype/.test(text) && !hasKeyTwice(text));
      assert.equal(parse(text), JSON.parse(text));
    }),
  );
});

right('may contain quotes, colons and brackets in its strings', () => {
  for (const text of ['{"a":"{\\"b\\":[1}"}', '{"\\\\":":"}', '["\\\\\\"",{"a:":"\\\\"}]']) {
    assert.equal(parse(text), JSON.parse(text));
  }
});

right('may use the same key in two objects', () => {
  assert.equal(parse('[{"a":1},{"a":{"a":2}}]'), [{ a: 1 }, { a: { a: 2 } }]);
});

const wrong = suite('a body');

for (const text of [
  '',
  ' ',
  '{',
  '"',
  '"\\',
  '{"a"}',
  '[1,]',
  'nul',
  '1 2',
  "{'a':1}",
  '{"a":1}}',
]) {
  wrong(`that is not JSON is refused: ${text}`, () => assert.is(reasonFor(text), 'malformed_json'));
}

wrong('that is not UTF-8 is refused', () => {
  assert.is(reasonFor(Buffer.from([0x22, 0xff, 0x22])), 'invalid_utf8');
});

wrong('with a duplicate key is refused, in any spelling', () => {
  assert.is(reasonFor('{"a":1,"a":1}'), 'duplicate_key');
  assert.is(reasonFor('{"a":1,"\\u0061":1}'), 'duplicate_key');
  assert.is(reasonFor('{"x":[{"a":1,"b":2,"a":3}]}'), 'duplicate_key');
});

wrong('with a key that names a prototype is refused', () => {
  assert.is(reasonFor('{"__proto__":1}'), 'unknown_field');
  assert.is(reasonFor('[{"a":{"\\u005f_proto__":{}}}]'), 'unknown_field');
  assert.is(reasonFor('{"constructor":{"prototype":1}}'), 'unknown_field');
  assert.is(reasonFor('{"constructor":1,"prototype":2}'), undefined);
});

wrong('that nests too deep is refused before parsing', () => {
  assert.is(reasonFor('['.repeat(24) + ']'.repeat(24)), undefined);
  assert.is(reasonFor('['.repeat(25) + ']'.repeat(25)), 'too_deep');
  assert.is(reasonFor('['.repeat(100_000)), 'too_deep');
});

wrong('is refused in time that grows linearly with its length', () => {
  const bodies = ['"'.repeat(200_000), `"${'\\'.repeat(200_000)}`, `"${'\\"'.repeat(100_000)}`];
  for (const body of bodies) {
    const startedMs = performance.now();
    reasonFor(body);
    assert.ok(performance.now() - startedMs < 2_000);
  }
});

for (const each of [right, wrong]) each.run();

/** Whether parsing loses a duplicate key. Compares key counts before and after. */
function hasKeyTwice(text: string): boolean {
  const colons = (json: string) => json.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').split(':').length;
  return colons(JSON.stringify(JSON.parse(text))) !== colons(text);
}
