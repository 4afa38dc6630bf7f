import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { IdentityEngine, IdentityEngineError, type Observation } from '../src/identity-engine.ts';
import { fromJson, toJson } from '../src/json.ts';
import { sceneOf } from './support/buffer-scene.ts';
import { rejection } from './support/clients.ts';

/** A client that records the sent bodies. Every answer has this text as its body. */
function writingDown(answer: string, integers?: 'exact' | 'number') {
  const sent: unknown[] = [];
  const fetch = async (_: string, { body }: RequestInit) => {
    sent.push(body);
    return new Response(answer, { headers: { 'x-request-id': 'req_1' } });
  };
  const options = { apiKey: 'k', baseUrl: 'http://x.test/v1', fetch, integers };
  return { sent, client: new IdentityEngine(options) };
}

const observationOf = (value: unknown): Observation => ({
  ...{ mode_target: 'ORDER', signal_strength: 0.5, context: { of: [{ it: value }] } },
});

const cyclic: Record<string, unknown> = {};
cyclic['self'] = cyclic;
const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);

const refused = suite('a value that JSON would drop or change');

const UNSENDABLE: readonly (readonly [string, unknown, RegExp])[] = [
  ['NaN', Number.NaN, /is NaN/],
  ['an infinity', Number.NEGATIVE_INFINITY, /is -Infinity/],
  ['an integer that may be rounded', 2 ** 53, /is 9007199254740992.* bigint/],
  ['a cycle', cyclic, /is cyclic/],
  ['an endless nesting', deep(20_000 / 10), /nested too deeply/],
  ['a lone surrogate', 'a\ud800', /lone surrogate/],
  ['a lone surrogate in a name', { '\udc00': 1 }, /lone surrogate/],
  ['a function', () => 1, /is a function/],
  ['a symbol', Symbol('x'), /is a symbol/],
  ['a map', new Map(), /is a Map/],
  ['a set', new Set(), /is a Set/],
  ['an invalid date', new Date(Number.NaN), /is an invalid date/],
  ['undefined in an array', [undefined], /\[0\] is undefined/],
  ['a hole of an array', new Array(1), /\[0\] is undefined/],
];

for (const [what, value, message] of UNSENDABLE) {
  // Report 4: a lone surrogate in a context was sent.
  // Report 19: NaN was sent as null, and cyclic values threw errors of other packages.
  refused(`is an error of the client before anything is sent: ${what}`, async () => {
    const { client, sent } = writingDown('{"data":{}}');
    const { buffer } = sceneOf();
    const instance = client.instance('inst_1');
    for (const call of [
      instance.process(observationOf(value)),
      instance.processBatch([observationOf(1), observationOf(value)]),
      instance.simulate([observationOf(value)]),
      buffer.add('inst_1', observationOf(value)),
    ]) {
      const error = await rejection(call, IdentityEngineError);
      assert.is(error.constructor, IdentityEngineError);
      assert.match(error.message, message);
      assert.match(error.message, /context\.of\[0\]\.it/);
    }
    assert.equal([sent, buffer.pending], [[], 0]);
  });
}

// Report 19: a lone surrogate in an id threw a URIError, and in a query was sent as another text.
refused('is an error even in an id or a query', async () => {
  const { client, sent } = writingDown('{"data":{}}');
  await rejection(client.instances.get('inst_\ud800'), IdentityEngineError);
  await rejection(client.instances.list({ search: 'a\udc00' }), IdentityEngineError);
  assert.equal(sent, []);
});

const written = suite('a body');

written('equals the output of JSON.stringify', () => {
  const values = [
    ...[null, true, false, '', 'é"\\\u2028😀', -0, 1e-7, 1e21, 1.5, 2 ** 53 - 1],
    ...[{}, [], { b: 1, a: { __proto__: null, c: [1, [2]] }, left: undefined, '': 0 }],
    ...[new Date(0), { toJSON: () => ({ x: 1 }) }, new URL('http://a.test')],
  ];
  for (const value of values) assert.is(toJson(value), JSON.stringify(value));
});

const BIG = '{"n":[9007199254740993,-9007199254740992],"f":1e21,"d":0.1234567890123456789}';

// Report 7: integers above 2^53 in a context were silently changed.
written('keeps integers of any size in both directions', async () => {
  const { client, sent } = writingDown(`{"data":[{"context":${BIG}}],"pagination":{}}`);
  const context = { n: [9_007_199_254_740_993n, -9_007_199_254_740_992n] };
  await client.instance('i').process({ ...observationOf(1), context });
  assert.match(String(sent[0]), '"context":{"n":[9007199254740993,-9007199254740992]}');
  const [row] = (await client.instance('i').history()).data;
  assert.equal(row?.context, { ...context, f: 1e21, d: 0.123_456_789_012_345_68 });
});

// Report 7: a buffer could not hold integers above 2^53.
written('from a buffer keeps integers of any size', async () => {
  const { buffer, clock, sent } = sceneOf();
  await buffer.add('inst_a', observationOf(9_007_199_254_740_993n));
  await clock.run(buffer.flush());
  assert.match(sent[0]?.text ?? '', '"it":9007199254740993');
});

// Report 4: rows stored with a lone surrogate must stay readable.
written('with a stored lone surrogate is readable', async () => {
  const { client } = writingDown('{"data":[{"context":{"a":"\\ud800"}}],"pagination":{}}');
  const [row] = (await client.instance('i').history()).data;
  assert.equal(row?.context, { a: '\ud800' });
});

written('is read with rounded integers if the client has integers: number', async () => {
  const { client } = writingDown(`{"data":[{"context":${BIG}}],"pagination":{}}`, 'number');
  const [row] = (await client.instance('i').history()).data;
  assert.equal(row?.context, JSON.parse(BIG));
});

written('is read correctly despite texts with digits and quotes', () => {
  const texts = ['"12345678901234567"', '"a\\\\\\"1234567890123456789"', ' [ 12345678901234.5 ] '];
  for (const text of [...texts, '{"12345678901234567":"12345678901234567"}']) {
    assert.equal(fromJson(text), JSON.parse(text));
  }
  assert.throws(() => fromJson('{"a":12345678901234567'), SyntaxError);
  assert.throws(() => fromJson(`"${'1'.repeat(100_000)}`), SyntaxError);
});

for (const each of [refused, written]) each.run();
