import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertRefusalShape } from '#test/support/calls/api-document';
import { dial, requestText, sendRaw } from '#test/support/calls/raw-http';
import { limitOf, openScene } from '#test/support/calls/scene';

const { service, caller, close } = await openScene();
const auth = `Authorization: Bearer ${caller.key}`;
const json = 'Content-Type: application/json';
const get = (target: string, ...headers: string[]) =>
  requestText('GET', target, [auth, ...headers]);

const methods = suite('a method that an endpoint does not have');

for (const method of ['HEAD', 'OPTIONS', 'TRACE', 'PUT', 'PROPFIND', 'QUERY']) {
  methods(`is refused with 404 and an Allow header: ${method}`, async () => {
    const answer = await sendRaw(service, requestText(method, '/v1/instances', [auth]));
    assert.is(answer.status, 404);
    assert.is(answer.headers.get('allow'), 'POST, GET');
    assert.is(limitOf(answer, 'limit'), 1_000_000);
    if (method !== 'HEAD') assert.is(answer.body.error, 'not_found');
  });
}

methods('is refused with 401 if the request has no key', async () => {
  for (const method of ['TRACE', 'OPTIONS', 'QUERY']) {
    const answer = await sendRaw(service, requestText(method, '/v1/instances'));
    assert.is(answer.status, 401);
    assert.is(answer.headers.get('allow'), null);
    assertRefusalShape(answer);
  }
});

methods('does not echo the request if it is TRACE', async () => {
  const answer = await sendRaw(service, requestText('TRACE', '/v1/instances', [auth, 'X-A: echo']));
  assert.not.match(answer.text, /echo|svc_sk_/);
});

methods('opens no tunnel if it is CONNECT', async () => {
  const answer = await sendRaw(service, 'CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: x\r\n\r\n');
  assert.is(answer.status, 404);
  assertRefusalShape(answer);
});

const resets = suite('a request whose caller resets the connection');

resets('does not end the process', async () => {
  const length = 'Content-Length: 9';
  for (const bytes of [
    'CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: x\r\n\r\n',
    'JUNK\r\n\r\n',
    requestText('GET', '/v1/personas', [auth]),
    requestText('GET', '/v1/personas', [auth, 'Connection: Upgrade', 'Upgrade: h2c']),
    requestText('POST', '/v1/instances', [auth, json, length]),
    requestText('POST', '/v1/instances', [auth, json, length, 'Transfer-Encoding: chunked']),
    requestText('POST', '/v1/instances', [auth, json, length, 'Expect: a-miracle']),
  ]) {
    for (const isAnswered of [false, true]) {
      using connection = await dial(service);
      connection.write(bytes);
      if (isAnswered && !bytes.includes(length)) await connection.next();
      connection.socket.resetAndDestroy();
    }
    assert.is((await caller.send('GET', '/personas')).status, 200);
  }
  for (const [, child] of service.processes) assert.is(child.exitCode, null);
});

methods('grants no access to other origins', async () => {
  const preflight = ['Origin: https://evil.example', 'Access-Control-Request-Method: GET'];
  for (const method of ['OPTIONS', 'GET']) {
    const answer = await sendRaw(
      service,
      requestText(method, '/v1/instances', [auth, ...preflight]),
    );
    const names = [...answer.headers.keys()];
    assert.equal(
      names.filter((name) => name.startsWith('access-control-')),
      [],
    );
  }
});

const upgrades = suite('a request to upgrade the protocol');

for (const protocol of ['h2c', 'websocket']) {
  upgrades(`is answered in HTTP/1.1: ${protocol}`, async () => {
    const upgrade = [`Connection: Upgrade, HTTP2-Settings`, `Upgrade: ${protocol}`];
    const answer = await sendRaw(
      service,
      get('/v1/personas', ...upgrade, 'HTTP2-Settings: AAMAAABk'),
    );
    assert.is(answer.status, 200);
    assert.is(answer.headers.get('upgrade'), null);
  });
}

upgrades('ends the connection, and bytes after the request are not read', async () => {
  using connection = await dial(service);
  const upgrade = get('/v1/personas', 'Connection: Upgrade', 'Upgrade: h2c');
  connection.write(get('/v1/personas') + upgrade + get('/v1/personas'));
  const answers = [await connection.next(), await connection.next()];
  assert.equal(
    answers.map((answer) => [answer?.status, answer?.headers.get('connection')]),
    [
      [200, 'keep-alive'],
      [200, 'close'],
    ],
  );
  assert.is(await connection.next(), undefined);
});

upgrades('without “upgrade” in Connection is an ordinary request', async () => {
  using connection = await dial(service);
  connection.write(get('/v1/personas', 'Upgrade: h2c') + get('/v1/personas'));
  for (const _ of [1, 2]) {
    const answer = await connection.next();
    assert.equal([answer?.status, answer?.headers.get('connection')], [200, 'keep-alive']);
  }
});

const expecting = suite('a request with Expect: 100-continue');

expecting('is answered 100 before its body, and 201 after it', async () => {
  using connection = await dial(service);
  const headers = [auth, json, 'Expect: 100-continue', 'Content-Length: 12'];
  connection.write(requestText('POST', '/v1/instances', headers));
  assert.is((await connection.next())?.status, 100);
  connection.write('{"name":"a"}');
  assert.is((await connection.next())?.status, 201);
});

expecting.after(close);

for (const each of [methods, resets, upgrades, expecting]) each.run();
