import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertRefusalShape } from '#test/support/calls/api-document';
import { requestText, sendRaw } from '#test/support/calls/raw-http';
import { assertRefused, openScene } from '#test/support/calls/scene';

const { service, caller, close } = await openScene();
const id = await caller.createInstance();
const path = `/instances/${id}/process`;
const observe = (body: string) => caller.send('POST', path, { body });
const withSignal = (literal: string) => `{"mode_target":"ORDER","signal_strength":${literal}}`;
const withContext = (context: string) =>
  `{"mode_target":"ORDER","signal_strength":0.5,"context":${context}}`;

/** Asserts that no refused request was applied. */
async function assertUntouched(): Promise<void> {
  const { data } = (await caller.send('GET', `/instances/${id}`)).body;
  assert.is(data.cycle_count, 0);
}

const malformed = suite('a malformed body');

const NOT_JSON: Record<string, string> = {
  NaN: withSignal('NaN'),
  Infinity: withSignal('Infinity'),
  '-Infinity': withSignal('-Infinity'),
  'a hexadecimal number': withSignal('0x1'),
  'a leading zero': withSignal('01'),
  'a leading plus': withSignal('+1'),
  'a leading dot': withSignal('.5'),
  'a trailing comma': '{"mode_target":"ORDER","signal_strength":0.5,}',
  'a comment': '{"mode_target":"ORDER",/* */"signal_strength":0.5}',
  'single quotes': "{'mode_target':'ORDER'}",
  undefined: withSignal('undefined'),
  'a control character in a string': withContext('{"a":"\u0001"}'),
  'a second value': `${withSignal('0.5')}{}`,
  'a missing end': '{"mode_target":"ORD',
  'only a space': ' ',
  'a form': 'mode_target=ORDER&signal_strength=0.5',
};

for (const [name, body] of Object.entries(NOT_JSON)) {
  malformed(`with ${name} is refused with 400`, async () => {
    assertRefused(await observe(body), 400, 'invalid_request', { reason: 'malformed_json' });
    await assertUntouched();
  });
}

malformed('without content is refused with 400', async () => {
  const answer = await caller.send('POST', path);
  assertRefused(answer, 400, 'invalid_request', { reason: 'malformed_json' });
});

const DUPLICATES = [
  '{"mode_target":"ORDER","signal_strength":0.5,"signal_strength":0.6}',
  '{"mode_target":"ORDER","signal_strength":0.5,"signal_\\u0073trength":0.6}',
  withContext('{"a":{"b":1,"b":1}}'),
  withContext('[{"a":1,"a":2}]'),
];

for (const body of DUPLICATES) {
  malformed(`with a duplicate key is refused with 400: ${body}`, async () => {
    assertRefused(await observe(body), 400, 'invalid_request', { reason: 'duplicate_key' });
    await assertUntouched();
  });
}

const numbers = suite('a number');

for (const literal of ['1e999', '-1e999', '1.0000001', '-1e-9', '2', `1${'0'.repeat(400)}`]) {
  numbers(`out of range is refused with 422: ${literal.slice(0, 12)}`, async () => {
    const details = { field: 'signal_strength', reason: 'out_of_range' };
    assertRefused(await observe(withSignal(literal)), 422, 'invalid_request', details);
    await assertUntouched();
  });
}

for (const literal of ['"0.5"', 'null', 'true', '[0.5]', '{"value":0.5}', '""']) {
  numbers(`in an invalid spelling is refused with 422: ${literal}`, async () => {
    const details = { field: 'signal_strength', reason: 'wrong_type' };
    assertRefused(await observe(withSignal(literal)), 422, 'invalid_request', details);
    await assertUntouched();
  });
}

numbers('too large to be a double is refused with 422 in a context as well', async () => {
  const details = { field: 'context', reason: 'out_of_range' };
  for (const context of ['{"a":1e999}', '{"a":[{"b":-1e400}]}']) {
    assertRefused(await observe(withContext(context)), 422, 'invalid_request', details);
  }
  await assertUntouched();
});

numbers('in an unusual spelling within the range is accepted', async () => {
  const other = await caller.createInstance();
  for (const [index, literal] of ['-0', '1e-400', '0.5e0', '10E-1', '1.000'].entries()) {
    const timestamp = new Date(Date.UTC(2026, 0, 1) + index * 1_000).toISOString();
    const body = `{"mode_target":"ORDER","signal_strength":${literal},"timestamp":"${timestamp}"}`;
    const answer = await caller.send('POST', `/instances/${other}/process`, { body });
    assert.is(answer.status, 200, literal);
  }
  const { data } = (await caller.send('GET', `/instances/${other}/history`)).body;
  assert.equal(
    data.map((record: { signal_strength: number }) => record.signal_strength),
    [1, 1, 0.5, 0, 0],
  );
});

const encodings = suite('a body');

const json = 'Content-Type: application/json';
const raw = (headers: string[], body: Uint8Array) => {
  const lines = [`Authorization: Bearer ${caller.key}`, ...headers];
  const head = requestText('POST', `/v1${path}`, [...lines, `Content-Length: ${body.length}`]);
  return sendRaw(service, Buffer.concat([Buffer.from(head), body]));
};
const plain = Buffer.from(withSignal('0.5'));

const NOT_UTF8 = {
  'a lone continuation byte': [0x80],
  'an overlong slash': [0xc0, 0xaf],
  'an encoded surrogate': [0xed, 0xa0, 0x80],
  'a code point beyond Unicode': [0xf4, 0x90, 0x80, 0x80],
  'half a character': [0xe2, 0x82],
};

for (const [name, bytes] of Object.entries(NOT_UTF8)) {
  encodings(`with ${name} is refused with 400`, async () => {
    const [start = '', end = ''] = withContext('{"a":"|"}').split('|');
    const body = Buffer.concat([Buffer.from(start), Buffer.from(bytes), Buffer.from(end)]);
    assertRefused(await raw([json], body), 400, 'invalid_request', { reason: 'invalid_utf8' });
    await assertUntouched();
  });
}

for (const type of [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/xml',
  'application/jsonp',
  'text/json',
  'application/merge-patch+json',
  'json',
  'application/json; charset=utf-16',
  'application/json; charset="UTF-16LE"',
  'application/json; charset=iso-8859-1',
  'application/json; charset=utf-8; charset=utf-16',
]) {
  encodings(`with the content type ${type} is refused with 415`, async () => {
    const answer = await raw([`Content-Type: ${type}`], plain);
    const details = { field: 'Content-Type', reason: 'unsupported_media_type' };
    assertRefused(answer, 415, 'invalid_request', details);
    await assertUntouched();
  });
}

encodings('without a content type is refused with 415', async () => {
  const answer = await raw([], plain);
  assert.is(answer.status, 415);
  assertRefusalShape(answer);
});

for (const coding of ['gzip', 'br', 'deflate', 'zstd', 'identity, gzip']) {
  encodings(`compressed with ${coding} is refused with 415 and not decompressed`, async () => {
    const answer = await raw([json, `Content-Encoding: ${coding}`], plain);
    const details = { field: 'Content-Encoding', reason: 'unsupported_media_type' };
    assertRefused(answer, 415, 'invalid_request', details);
    await assertUntouched();
  });
}

encodings('in UTF-16 with a JSON content type is refused with 400', async () => {
  for (const mark of ['', '\ufeff']) {
    const body = Buffer.from(mark + withSignal('0.5'), 'utf16le');
    const answer = await raw([json], body);
    assert.is(answer.status, 400);
    assertRefusalShape(answer);
  }
  await assertUntouched();
});

encodings('with a byte order mark is refused with 400', async () => {
  const other = await caller.createInstance();
  const body = `\ufeff${withSignal('0.5')}`;
  const answer = await caller.send('POST', `/instances/${other}/process`, { body });
  assert.is(answer.status, 400);
});

const texts = suite('a text');

for (const [name, escaped] of [
  ['a lone high surrogate', '\\ud800'],
  ['a lone low surrogate', 'a\\udc00b'],
  ['reversed surrogates', '\\udc00\\ud800'],
]) {
  texts(`with ${name} is refused with 422`, async () => {
    for (const field of ['name', 'description']) {
      const rest = field === 'name' ? '' : '"name":"a",';
      const answer = await caller.send('POST', '/instances', {
        body: `{${rest}"${field}":"${escaped}"}`,
      });
      assertRefused(answer, 422, 'invalid_request', { field, reason: 'invalid_text' });
    }
  });
}

const HOSTILE = {
  'line breaks': 'a\r\nX-Injected: 1\r\n\r\n<html>',
  'a text direction override': 'abc\u202egpj.exe\u2066\u2069',
  'control characters': '\u0000\u0007\u001b[2J\u007f\u0085',
  markup: '<script>alert(1)</script>"\'&',
  'a formula': '=HYPERLINK("http://evil.example")',
  'a format string': '%s%n$' + '{jndi:ldap://x}{{7*7}}',
  '100 combining marks': '\u0301'.repeat(100),
  '100 emoji': '👩'.repeat(100),
  'joined emoji': '👩‍👩‍👧‍👦'.repeat(14),
  'a line separator': 'a\u2028b\u2029c',
  SQL: "'; DROP TABLE instances; --",
};

for (const [name, text] of Object.entries(HOSTILE)) {
  texts(`with ${name} is returned unchanged, in the body only`, async () => {
    const answer = await caller.send('POST', '/instances', {
      json: { name: text, description: text },
      headers: { 'idempotency-key': `hostile ${Math.random()}` },
    });
    assert.is(answer.status, 201, answer.text);
    assert.equal([answer.body.data.name, answer.body.data.description], [text, text]);
    assert.is(answer.headers.get('x-injected'), null);
    const read = await caller.send('GET', `/instances/${answer.body.data.id}`);
    assert.is(read.body.data.name, text);
    assert.not.match(service.log(), /X-Injected|alert\(1\)|jndi|DROP TABLE/);
  });
}

texts(
  'of more than 100 code points is refused with 422, even with few visible characters',
  async () => {
    const tooLong = { field: 'name', reason: 'too_long' };
    for (const name of ['👩'.repeat(101), '\u0301'.repeat(101), '👩‍👩‍👧‍👦'.repeat(15)]) {
      const answer = await caller.send('POST', '/instances', { json: { name } });
      assertRefused(answer, 422, 'invalid_request', tooLong);
    }
  },
);

const ids = suite('an id');

for (const [name, text] of Object.entries({
  quotes: "inst_'%20OR%20'1'='1",
  'line breaks': 'inst_%0d%0aX-Injected:%201',
  'a NUL': 'inst_0123456789abcdef%00',
  'a path': '..%2f..%2faccounts',
  dots: '..',
  'upper case': 'INST_0123456789ABCDEF',
  'a prototype': '__proto__',
  'a constructor': 'constructor',
  'other digits': 'inst_０１２３４５６７８９abcdef',
})) {
  ids(`with ${name} is refused with 404 and never echoed`, async () => {
    for (const base of ['instances', 'personas']) {
      const answer = await caller.send('GET', `/${base}/${text}`);
      assert.is(answer.status, 404, text);
      assertRefusalShape(answer);
      assert.is(answer.headers.get('x-injected'), null);
      assert.not.match(answer.text, /inst_|proto|constructor/i);
    }
  });
}

const echoes = suite('a request id');

for (const text of [
  'short',
  'a'.repeat(65),
  'with space',
  'semi;colon',
  'naïve-id-1',
  '<script>1',
]) {
  echoes(`of an invalid form is not echoed: ${text.slice(0, 12)}`, async () => {
    const line = Buffer.from(`X-Request-Id: ${text}`).toString('latin1');
    const auth = `Authorization: Bearer ${caller.key}`;
    const answer = await sendRaw(service, requestText('GET', '/v1/personas', [auth, line]));
    assert.match(answer.headers.get('x-request-id') ?? '', /^req_[0-9a-f]{32}$/);
  });
}

echoes('that is repeated is not echoed', async () => {
  const lines = ['X-Request-Id: first-one', 'X-Request-Id: second-one'];
  const auth = `Authorization: Bearer ${caller.key}`;
  const answer = await sendRaw(service, requestText('GET', '/v1/personas', [auth, ...lines]));
  assert.match(answer.headers.get('x-request-id') ?? '', /^req_[0-9a-f]{32}$/);
});

echoes('of an invalid form does not affect later requests', async () => {
  await caller.process(id, { mode_target: 'ORDER', signal_strength: 0.5 });
});

echoes.after(close);

for (const each of [malformed, numbers, encodings, texts, ids, echoes]) each.run();
