import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLogger, type Logger } from '#telemetry/logger';
import { TEST_ORIGIN } from '#test/support/test-logger';

const KEY = `svc_sk_${'aB3'.repeat(16)}zZ`;
const SECRET = 'do-not-show-this';

/** Text that a logger writes while `say` runs. */
function written(say: (logger: Logger) => void): string {
  const lines: string[] = [];
  say(createLogger('debug', TEST_ORIGIN, { write: (line) => void lines.push(line) }));
  return lines.join('');
}

/** The parsed line that a logger writes for the given fields. */
function lineOf(fields: object): ReturnType<typeof JSON.parse> {
  return JSON.parse(written((logger) => logger.error(fields, 'text')));
}

const SECRET_NAMES = fc.constantFrom(
  ...['authorization', 'Authorization', 'key', 'apiKey', 'api_key', 'secret', 'keyDigest'],
  ...['key_digest', 'SERVICE_CLUSTER_SECRET', 'SERVICE_NATS_PASSWORD', 'set-cookie', 'adminToken'],
);

/** Ways to wrap a value in another container. */
const LAYERS = fc.constantFrom<(inner: unknown) => unknown>(
  (inner) => ({ inner }),
  (inner) => ({ __proto__: null, first: 1, inner }),
  (inner) => [inner],
  (inner) => [1, [inner, 'x']],
  (inner) => new Map([['inner', inner]]),
  (inner) => new Set([inner]),
  (inner) => ({ toJSON: () => ({ inner }) }),
  (inner) => Object.assign(new Error('outer'), { inner }),
  (inner) => new Error('outer', { cause: inner }),
  (inner) => new AggregateError([inner], 'outer'),
  (inner) => ({ ...JSON.parse('{"__proto__":1}'), inner }),
);

/** Ways to hide a secret: by field name, or as a key within a text. */
const LEAVES = fc.oneof(
  SECRET_NAMES.chain((name) =>
    fc.constantFrom<unknown>(
      { [name]: SECRET },
      { [name]: [SECRET] },
      { [name]: { deep: SECRET } },
      new Map([[name, SECRET]]),
    ),
  ),
  fc.constantFrom<unknown>(
    `before ${KEY} after`,
    { url: `/v1/instances/${KEY}?x` },
    new Error(`bad key ${KEY}`),
    new URL(`http://localhost/${KEY}`),
    { [KEY]: 1 },
    Symbol(KEY),
    Buffer.from(KEY),
  ),
);

const redaction = suite('a secret in a log line');

redaction('is never written, at any depth and in any container', () => {
  const nested = fc.tuple(LEAVES, fc.array(LAYERS, { maxLength: 24 }));
  fc.assert(
    fc.property(nested, fc.string(), ([leaf, layers], name) => {
      const value = layers.reduce((inner, wrap) => wrap(inner), leaf);
      for (const fields of [{ [name]: value }, { err: value }, { fine: 1, value }]) {
        const text = written((logger) => logger.warn(fields, 'text'));
        assert.not.match(text, /svc_sk_|aB3aB3|do-not-show|\\u0073vc/);
        assert.not.ok(text.includes([...Buffer.from(KEY)].join(',')), 'the bytes of a key');
        assert.is(JSON.parse(text).msg, 'text');
      }
    }),
    { numRuns: 500 },
  );
});

redaction('is removed from messages, even if the key is truncated', () => {
  const text = written((logger) => {
    logger.error(`the key ${KEY} and "${KEY.slice(0, 12)}" are bad`);
    logger.error(new Error(KEY), KEY);
  });
  assert.not.match(text, /svc_sk_|aB3/);
  assert.match(text, /the key \[redacted\] and \\"\[redacted\]\\" are bad/);
});

redaction('does not affect other values', () => {
  const fields = { keys: 3, tokens: [1], monkey: 'x', at: new Date(0), none: null, yes: true };
  const { keys, tokens, monkey, at, none, yes } = lineOf({ a: { b: { c: { d: fields } } } }).a.b.c
    .d;
  assert.equal([keys, tokens, monkey, at], [3, [1], 'x', '1970-01-01T00:00:00.000Z']);
  assert.equal([none, yes], [null, true]);
});

const errors = suite('an error in a log line');

errors('is written with its chain of causes and every stack', () => {
  const root = new TypeError('the root');
  const middle = new Error('the middle', { cause: root });
  const { err } = lineOf({ err: new RangeError('the top', { cause: middle }) });
  assert.equal(
    [err, err.cause, err.cause.cause].map(({ type, message }) => [type, message]),
    [
      ['RangeError', 'the top'],
      ['Error', 'the middle'],
      ['TypeError', 'the root'],
    ],
  );
  for (const each of [err, err.cause, err.cause.cause]) {
    assert.match(each.stack, /at .*logger\.test\.ts:\d+/);
  }
});

errors('is written in the same form in any field', () => {
  const error = new Error('here', { cause: new Error('why') });
  const line = lineOf({ err: error, cause: error, list: [{ error }] });
  assert.equal(line.err, line.cause);
  assert.equal(line.list[0].error, line.err);
});

errors("is written with all errors of an aggregate, and with a library's own fields", () => {
  const several = Object.assign(new AggregateError([new Error('one'), 'two'], 'all'), {
    innerErrors: { '127.0.0.1:9042': new Error('three') },
    code: 512,
  });
  const { err } = lineOf({ err: several });
  assert.is(err.errors[0].message, 'one');
  assert.is(err.errors[1], 'two');
  assert.is(err.innerErrors['127.0.0.1:9042'].message, 'three');
  assert.is(err.code, 512);
});

const bounds = suite('a logged value');

bounds('may be cyclic, or throw when read', () => {
  const first: Error & { self?: unknown } = new Error('first');
  const second = new Error('second', { cause: first });
  first.cause = second;
  first.self = first;
  const { err } = lineOf({ err: first });
  assert.is(err.cause.message, 'second');
  assert.is(err.cause.cause, '[circular]');
  assert.is(err.self, '[circular]');
  const throwing = {
    get a(): never {
      throw new Error('no');
    },
    toString: undefined,
  };
  assert.is(lineOf({ throwing }).throwing.a, '[unreadable]');
  const hostile = { toJSON: () => assert.unreachable('called') };
  assert.is(lineOf({ hostile }).hostile, '[unreadable]');
});

bounds('makes a line of bounded length', () => {
  let chain = new Error('root');
  for (let i = 0; i < 1_000; i += 1) chain = new Error('next', { cause: chain });
  const wide = Array.from({ length: 10_000 }, () => ({ list: Array(1_000).fill('x'.repeat(100)) }));
  const long = 'x'.repeat(10_000_000);
  for (const value of [chain, wide, long, { [long]: 1 }, { wide, long, chain }, Array(1e6)]) {
    const text = written((logger) => logger.error({ value }, 'text'));
    assert.ok(text.length < 200_000, `${text.length}`);
    assert.is(JSON.parse(text).msg, 'text');
  }
});

for (const each of [redaction, errors, bounds]) each.run();
