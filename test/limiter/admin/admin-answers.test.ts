import { networkInterfaces } from 'node:os';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import { adminUnderTest } from '#test/limiter/admin/admin-fixture';

const JSON_BODY = { 'content-type': 'application/json' };

const any = suite('an answer of the admin port');

any('is JSON, uncached, and protected against type sniffing', async () => {
  await using port = await adminUnderTest();
  for (const path of ['/accounts', '/nowhere']) {
    const { headers } = await port.send('GET', path);
    assert.is(headers['content-type'], 'application/json; charset=utf-8');
    assert.is(headers['cache-control'], 'no-store');
    assert.is(headers['x-content-type-options'], 'nosniff');
  }
});

any('has a challenge only if the token or proof was wrong', async () => {
  await using port = await adminUnderTest();
  const wrong = await port.raw('GET', '/accounts', { authorization: 'Bearer of news' }, '');
  assert.is(wrong.status, 401);
  assert.match(wrong.headers['www-authenticate'] ?? '', /^Bearer, Proof nonce="[\w-]{22}"$/);
  const missing = await port.send('GET', '/nowhere');
  assert.equal([missing.status, missing.headers['www-authenticate']], [404, undefined]);
});

any('is also sent from an IPv6 loopback address', async () => {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  if (!addresses.some(({ address }) => address === '::1')) return;
  await using port = await adminUnderTest({ host: '::1' });
  assert.match(port.address, /^http:\/\/\[::1\]:\d+$/);
  assert.is((await port.send('GET', '/accounts')).status, 200);
});

const body = suite('a body sent to the admin port');

body('can have up to 16,384 bytes', async () => {
  await using port = await adminUnderTest();
  const body = JSON.stringify({ name: 'a', plan: 'free' });
  const made = await port.raw('POST', '/accounts', JSON_BODY, body.padEnd(16_384));
  assert.is(made.status, 200);
  const refused = await port.raw('POST', '/accounts', JSON_BODY, body.padEnd(16_385));
  assert.equal([refused.status, refused.json.details.reason], [413, 'body_too_large']);
});

body('makes the server close the connection only if the server refuses it unread', async () => {
  await using port = await adminUnderTest();
  const unread = await port.raw('POST', '/accounts', JSON_BODY, ' '.repeat(1_000_000));
  assert.equal([unread.status, unread.headers.connection], [413, 'close']);
  const read = await port.raw('POST', '/accounts', JSON_BODY, '{');
  assert.equal([read.status, read.headers.connection], [400, 'keep-alive']);
});

body('is refused with the name of the wrong header', async () => {
  await using port = await adminUnderTest();
  const { status, json } = await port.raw('POST', '/accounts', {}, '{}');
  assert.is(status, 415);
  assert.equal(json.details, { field: 'content-type', reason: 'unsupported_media_type' });
});

const target = suite('a request target that is not a URL');

target('is refused as malformed', async () => {
  await using port = await adminUnderTest();
  const { status, json } = await port.send('GET', '//:');
  assert.equal([status, json.error], [400, 'invalid_request']);
  assert.is(json.details.reason, 'malformed_request');
});

const failing = suite('a failed administration call');

failing('is reported to the log, but not to the caller, if it is a bug', async () => {
  const bug = new TypeError('a secret of the store');
  const port = await adminUnderTest({ admin: { listAccounts: () => Promise.reject(bug) } });
  const { status, json, text } = await port.send('GET', '/accounts');
  assert.equal([status, json.error], [500, 'internal']);
  assert.not.match(text, /secret/);
  assert.equal(port.fixture.bugs.splice(0), [bug]);
  await port[Symbol.asyncDispose]();
});

failing('is reported to log and caller if the store is unavailable', async () => {
  const away = new Fault('service_unavailable', 'the store does not answer');
  const port = await adminUnderTest({ admin: { listAccounts: () => Promise.reject(away) } });
  const { status, json } = await port.send('GET', '/accounts');
  assert.equal([status, json.message], [503, 'the store does not answer']);
  assert.equal(port.fixture.bugs.splice(0), [away]);
  await port[Symbol.asyncDispose]();
});

failing('is reported only to the caller if the caller made a mistake', async () => {
  const refusal = new Fault('conflict', 'the account already exists');
  await using port = await adminUnderTest({
    admin: { listAccounts: () => Promise.reject(refusal) },
  });
  assert.is((await port.send('GET', '/accounts')).status, 409);
  assert.equal(port.fixture.bugs, []);
});

for (const each of [any, body, target, failing]) each.run();
