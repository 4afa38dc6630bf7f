import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertRefusalShape } from '#test/support/calls/api-document';
import { requestText, sendRaw } from '#test/support/calls/raw-http';
import { limitOf, openScene } from '#test/support/calls/scene';

const { service, caller, close } = await openScene();
const auth = `Authorization: Bearer ${caller.key}`;
const get = (target: string, ...headers: string[]) =>
  requestText('GET', target, [auth, ...headers]);

const spellings = suite('a path in another spelling');

const SAME_PATH = ['http://localhost/v1/instances', '/%761/instances', '/v1/%69nstances'];

for (const target of SAME_PATH) {
  spellings(`that the router accepts needs a key like the plain path: ${target}`, async () => {
    const refused = await sendRaw(service, requestText('GET', target));
    assert.is(refused.status, 401);
    assertRefusalShape(refused);
    const answer = await sendRaw(service, get(target));
    assert.is(answer.status, 200);
    assert.is(limitOf(answer, 'limit'), 1_000_000);
  });
}

for (const target of [
  '/v1/instances/',
  '/v1/Instances',
  '/v1/instances;x',
  '/v1/',
  '/v1',
  '/v1?x',
]) {
  spellings(`that matches no route of the API is refused with 404: ${target}`, async () => {
    const answer = await sendRaw(service, get(target));
    assert.is(answer.status, 404);
    assertRefusalShape(answer);
  });
}

/** API path spellings that a careless proxy or client may send. */
const BENT = [
  ...['//v1', '//v1/instances', '///v1//instances', '/v1//instances', '/./v1/instances'],
  ...['/.//./v1/instances', '/x/../v1/instances', '/../v1', '/%2e/v1/instances', '/%2E%2e/v1'],
  ...['/%2fv1', '/%2Fv1/instances', '/v1%2finstances', '/%5cv1/instances', '/v1\\instances'],
  ...['/V1/instances', '/%561/instances', '/v1;x=y/instances', '/v1%20/instances'],
  ...['http://localhost//v1/instances', 'HTTP://localhost/./v1', 'https://x.example/%2fv1'],
  ...['ftp://localhost/v1/instances', 'http://localhost/v1%2finstances?x'],
];

for (const target of BENT) {
  spellings(`that resembles a path of the API is refused like that path: ${target}`, async () => {
    const stranger = await sendRaw(service, requestText('GET', target));
    assert.is(stranger.status, 401);
    assertRefusalShape(stranger);
    const answer = await sendRaw(service, get(target));
    assertRefusalShape(answer);
    assert.is(answer.status, 404);
    assert.is(answer.body.error, 'not_found');
    assert.is(limitOf(answer, 'limit'), 1_000_000);
  });
}

const OUTSIDE = ['/v1x', '/x/v1', '/v1x/../../docs', '/v11', '/'];

for (const target of [...OUTSIDE, '*', '/metrics', '/health/live', '/accounts', '/v2/instances']) {
  spellings(`that is outside the API is a plain 404: ${target}`, async () => {
    const answer = await sendRaw(service, get(target));
    assert.is(answer.status, 404);
    assert.is(answer.text, 'Not Found\n');
    assert.is(answer.headers.get('x-ratelimit-limit'), null);
    assert.match(answer.headers.get('x-request-id') ?? '', /^req_/);
  });
}

spellings('without a key leaves the process running', async () => {
  for (const target of SAME_PATH) await sendRaw(service, requestText('GET', target));
  assert.is((await caller.send('GET', '/instances')).status, 200);
});

spellings.after(close);

spellings.run();
