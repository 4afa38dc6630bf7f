import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertRefusalShape } from '#test/support/calls/api-document';
import { requestText, sendRaw } from '#test/support/calls/raw-http';
import { limitOf, openScene } from '#test/support/calls/scene';

const { service, caller, close } = await openScene();
const auth = `Authorization: Bearer ${caller.key}`;
const json = 'Content-Type: application/json';
const head = (method: string, version: string, ...lines: string[]) =>
  `${[`${method} /v1/instances${version}`, auth, ...lines].join('\r\n')}\r\n\r\n`;
const get = (target: string, ...headers: string[]) =>
  requestText('GET', target, [auth, ...headers]);

/** Asserts a refusal in the error envelope. Its limit headers are 0: no account is known. */
async function assertRefusedRaw(bytes: string | Uint8Array, status: number, reason: string) {
  const answer = await sendRaw(service, bytes);
  assertRefusalShape(answer);
  assert.is(answer.status, status, answer.text);
  assert.is(answer.body.error, 'invalid_request');
  assert.is(answer.body.details.reason, reason);
  assert.is(limitOf(answer, 'limit'), 0);
  assert.is(limitOf(answer, 'monthly'), 0);
}

/** Bytes that are no valid HTTP/1.1 request, with the expected answer. */
const BROKEN: Record<
  string,
  readonly [bytes: string | Uint8Array, status: number, reason: string]
> = {
  'a length and a chunked body': [
    head('POST', ' HTTP/1.1', 'Host: x', 'Content-Length: 4', 'Transfer-Encoding: chunked'),
    400,
    'malformed_request',
  ],
  'two lengths': [
    head('POST', ' HTTP/1.1', 'Host: x', 'Content-Length: 0', 'Content-Length: 5'),
    400,
    'malformed_request',
  ],
  'a negative length': [
    head('POST', ' HTTP/1.1', 'Host: x', 'Content-Length: -1'),
    400,
    'malformed_request',
  ],
  'a space before a colon': [
    head('GET', ' HTTP/1.1', 'Host: x', 'X-Custom : 1'),
    400,
    'malformed_request',
  ],
  'a folded header': [
    head('GET', ' HTTP/1.1', 'Host: x', 'X-A: b\r\n c'),
    400,
    'malformed_request',
  ],
  'bare line feeds': [`GET /v1/instances HTTP/1.1\nHost: x\n${auth}\n\n`, 400, 'malformed_request'],
  'a NUL in a header': [head('GET', ' HTTP/1.1', 'Host: x', 'X-A: \0'), 400, 'malformed_request'],
  'an unknown method': [head('FOO', ' HTTP/1.1', 'Host: x'), 400, 'malformed_request'],
  'a method in lower case': [head('get', ' HTTP/1.1', 'Host: x'), 400, 'malformed_request'],
  'a TLS hello': [Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]), 400, 'malformed_request'],
  'the preface of HTTP/2': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'malformed_request'],
  'HTTP/0.9': [head('GET', '', 'Host: x'), 505, 'http_version_not_supported'],
  'HTTP/1.0': [head('GET', ' HTTP/1.0', 'Host: x'), 505, 'http_version_not_supported'],
  'HTTP/3.0': [head('GET', ' HTTP/3.0', 'Host: x'), 400, 'malformed_request'],
  'HTTP/1.0 beside the API': ['GET /docs HTTP/1.0\r\n\r\n', 505, 'http_version_not_supported'],
  'no Host beside the API': ['GET http://x/ HTTP/1.1\r\n\r\n', 400, 'malformed_request'],
  'no Host': [head('GET', ' HTTP/1.1'), 400, 'malformed_request'],
  'two Hosts': [head('GET', ' HTTP/1.1', 'Host: a', 'Host: b'), 400, 'malformed_request'],
  'an expectation': [get('/v1/instances', 'Expect: a-miracle'), 417, 'expectation_failed'],
  'a percent sign without digits': [get('/v1/%zz'), 400, 'malformed_request'],
  'an escape that is not UTF-8': [get('/v1/instances/%ff'), 400, 'malformed_request'],
  'an id of 500 characters': [get(`/v1/instances/${'a'.repeat(500)}`), 414, 'uri_too_long'],
  'a URL of 16 KiB': [get(`/v1/instances?x=${'a'.repeat(16_384)}`), 431, 'headers_too_large'],
  '10,000 headers': [
    get('/v1/instances', ...Array.from({ length: 10_000 }, (_, i) => `X-${i}: y`)),
    431,
    'headers_too_large',
  ],
  'a key of 10 KiB': [
    requestText('GET', '/v1/instances', [`Authorization: Bearer svc_sk_${'a'.repeat(10_240)}`]),
    431,
    'headers_too_large',
  ],
};

const broken = suite('an invalid HTTP/1.1 request');

for (const [name, [bytes, status, reason]] of Object.entries(BROKEN)) {
  broken(`with ${name} is refused with ${status} in the envelope`, () =>
    assertRefusedRaw(bytes, status, reason),
  );
}

/** API paths that the router cannot decode. */
const UNREADABLE = [
  ...['/v1/%zz', '/v1/instances/%ff', '/v1/instances/%', `/v1/instances/${'a'.repeat(500)}`],
  ...['//v1/%zz', '/%761/%c0%af', `/v1/personas/${'%61'.repeat(300)}`, '/v1/%zz?x#y'],
  ...['http://localhost/v1/%zz', 'http://localhost/v1/instances#x'],
];

for (const target of UNREADABLE) {
  const name = target.slice(0, 40);
  broken(`without a valid key is answered 401 like any other request: ${name}`, async () => {
    for (const credentials of [[], ['Authorization: Basic x'], [`${auth}x`], [auth, auth]]) {
      const answer = await sendRaw(service, requestText('GET', target, credentials));
      assertRefusalShape(answer);
      assert.is(answer.status, 401);
      assert.is(answer.body.error, 'unauthorized');
      assert.is(answer.headers.get('www-authenticate'), 'Bearer');
    }
    assert.ok([400, 414].includes((await sendRaw(service, get(target))).status));
  });
}

broken('is refused under the caller’s own request id if the id is readable', async () => {
  for (const bytes of [
    get('/v1/%zz', 'X-Request-Id: my-own-id'),
    get('/v1/instances', 'Expect: x', 'X-Request-Id: my-own-id'),
  ]) {
    const answer = await sendRaw(service, bytes);
    assert.is(answer.headers.get('x-request-id'), 'my-own-id');
  }
});

broken('does not end the process', async () => {
  assert.is((await caller.send('GET', '/instances')).status, 200);
  for (const [, child] of service.processes) assert.is(child.exitCode, null);
});

const bodies = suite('a body in broken framing');

const FRAMING = {
  'an unknown transfer coding': ['Transfer-Encoding: xchunked', '0\r\n\r\n'],
  'a chunk without a size': ['Transfer-Encoding: chunked', 'ZZ\r\n{}\r\n0\r\n\r\n'],
} as const;

for (const [name, [framing, body]] of Object.entries(FRAMING)) {
  bodies(`with ${name} is refused with 400 and the caller’s limit headers`, async () => {
    const before = (await caller.send('GET', '/instances')).body.pagination.total;
    const answer = await sendRaw(
      service,
      head('POST', ' HTTP/1.1', 'Host: x', json, framing) + body,
    );
    assert.is(answer.status, 400, answer.text);
    assertRefusalShape(answer);
    assert.is(answer.body.details.reason, 'malformed_request');
    assert.is(limitOf(answer, 'limit'), 1_000_000);
    assert.is((await caller.send('GET', '/instances')).body.pagination.total, before);
  });
}

bodies.after(close);

for (const each of [broken, bodies]) each.run();
