import { once } from 'node:events';
import { connect } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loopbackOrigins } from '#console/app/visit';
import { type Reply, setCookies } from '#test/console/browser';
import {
  ACCOUNT_ID,
  OTHER_ACCOUNT_ID,
  openConsole,
  PASSWORD,
  tokenIn,
} from '#test/console/console-fixture';

const EMAIL = 'ada@example.com';

const SIGN_IN = { email: EMAIL, password: PASSWORD };

const sites = suite('a page of another site');

for (const [what, headers, reason] of [
  ['its own origin', { origin: 'https://evil.example' }, 'cross_site_request'],
  ['no origin', { origin: undefined }, 'cross_site_request'],
  ['an opaque origin', { origin: 'null' }, 'cross_site_request'],
  ['another port', { origin: 'http://127.0.0.1:1' }, 'cross_site_request'],
  ['a request across sites', { 'sec-fetch-site': 'cross-site' }, 'cross_site_request'],
  ['a request from the same site', { 'sec-fetch-site': 'same-site' }, 'cross_site_request'],
  ['a request that no page sent', { 'sec-fetch-site': 'none' }, 'cross_site_request'],
  ['the content type of a form', { 'content-type': 'text/plain' }, 'unsupported_media_type'],
  ['no content type', { 'content-type': undefined }, 'unsupported_media_type'],
  [
    'a content type that only resembles JSON',
    { 'content-type': 'text/plain; application/json' },
    'unsupported_media_type',
  ],
  ['its own host', { host: 'evil.example' }, 'wrong_host'],
  ['no host', { host: undefined }, 'wrong_host'],
  ['a host with a user name before it', { host: 'evil@127.0.0.1' }, 'wrong_host'],
] as const) {
  sites(`is refused with ${what}, whatever the cookie`, async () => {
    await using desk = await openConsole();
    const owner = await desk.owner();
    const body = { email: 'eve@example.com', role: 'owner' };
    const reply = await owner.send('POST', '/members/invitations', body, headers);
    assert.is(reply.reason, reason);
    assert.is.not(reply.status, 201);
    const { data } = await owner.expect(200, 'GET', '/members');
    assert.equal(data['invitations'], []);
    for (const [name] of Object.entries(reply.headers)) assert.not.match(name, /^access-control-/);
  });
}

sites('in an old browser is refused by its origin', async () => {
  await using desk = await openConsole();
  await desk.owner();
  const old = { 'sec-fetch-site': undefined };
  assert.is((await desk.browser().send('POST', '/sign-in', SIGN_IN, old)).status, 200);
  const evil = { ...old, origin: 'https://evil.example' };
  assert.is((await desk.browser().send('POST', '/sign-in', SIGN_IN, evil)).status, 403);
});

sites('gets no permission from a preflight request', async () => {
  await using desk = await openConsole();
  const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' };
  const reply = await desk.browser().send('OPTIONS', '/sign-in', undefined, headers);
  assert.ok(reply.status >= 400);
  for (const name of Object.keys(reply.headers)) assert.not.match(name, /^access-control-/);
});

const sessions = suite('a console session');

sessions('is not granted to a cookie value from before the sign-in', async () => {
  await using desk = await openConsole();
  const eve = await desk.owner('eve@example.com', OTHER_ACCOUNT_ID);
  await desk.owner();
  const planted = eve.cookies.get('session') ?? '';
  for (const value of [planted, 'usr_0000000000000000.made-up', '']) {
    const victim = desk.browser();
    if (value !== '') victim.cookies.set('session', value);
    await victim.expect(200, 'POST', '/sign-in', SIGN_IN);
    assert.is.not(victim.cookies.get('session'), value);
  }
  assert.is((await eve.send('GET', '/me')).status, 401, 'the planted session has ended');
});

sessions('is not granted if a request has two session cookies', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const own = owner.cookies.get('session');
  const cookie = `session=made-up; session=${own}`;
  assert.is((await owner.send('GET', '/me', undefined, { cookie })).status, 401);
});

sessions('ends after 30 minutes without a request, and not before', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  for (let minutes = 0; minutes < 90; minutes += 29) {
    desk.clock.advance(29 * 60_000);
    await owner.expect(200, 'GET', '/me');
  }
  desk.clock.advance(30 * 60_000);
  assert.is((await owner.send('GET', '/me')).reason, 'sign_in_needed');
});

sessions('ends after 12 hours, however often it is used', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  for (let minutes = 20; minutes < 12 * 60; minutes += 20) {
    desk.clock.advance(20 * 60_000);
    await owner.expect(200, 'GET', '/me');
  }
  desk.clock.advance(20 * 60_000);
  assert.is((await owner.send('GET', '/me')).reason, 'sign_in_needed');
});

sessions('ends if it is the least recently used of more than thirty sessions', async () => {
  await using desk = await openConsole();
  const first = await desk.owner();
  const last = desk.browser();
  for (let at = 0; at < 30; at += 1) {
    desk.clock.advance(1_000);
    last.cookies.delete('session');
    await last.expect(200, 'POST', '/sign-in', SIGN_IN);
  }
  assert.is((await first.send('GET', '/me')).status, 401);
  const { data } = await last.expect(200, 'GET', '/sessions');
  assert.is((data as unknown as unknown[]).length, 30);
});

sessions('over TLS has a cookie that browsers send to this host only', async () => {
  await using desk = await openConsole({ origin: 'https://console.example.com' });
  const owner = await desk.owner();
  assert.equal([...owner.cookies.keys()].sort(), ['__Host-device', '__Host-session']);
  const reply = await desk.browser().signIn(EMAIL, PASSWORD);
  for (const line of setCookies(reply)) {
    assert.match(
      line,
      /^__Host-\w+=[^;]+;( Max-Age=\d+;)? Path=\/; HttpOnly; SameSite=Strict; Secure$/,
    );
  }
  assert.match(String(reply.headers['strict-transport-security']), /^max-age=31536000$/);
  const value = owner.cookies.get('__Host-session') ?? '';
  const plain = desk.browser();
  plain.cookies.set('session', value);
  assert.is((await plain.send('GET', '/me')).status, 401);
});

const answers = suite('an answer of the console');

function assertSafe({ headers }: Reply): void {
  const policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
  assert.is(headers['content-security-policy'], policy);
  assert.is(headers['x-content-type-options'], 'nosniff');
  assert.is(headers['referrer-policy'], 'no-referrer');
  assert.is(headers['cross-origin-opener-policy'], 'same-origin');
  assert.is(headers['cross-origin-resource-policy'], 'same-origin');
  assert.is(headers['cache-control'], 'no-store');
  assert.ok(headers['permissions-policy']);
  assert.is(
    headers['strict-transport-security'],
    undefined,
    'an answer over plain HTTP must not have this header',
  );
}

answers('has the headers that restrict browsers', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  assertSafe(await owner.expect(200, 'GET', '/me'));
  assertSafe(await owner.expect(204, 'POST', '/sign-out', {}));
  assertSafe(await owner.expect(401, 'GET', '/me'));
  assertSafe(await owner.expect(404, 'GET', '/nothing'));
  assertSafe(await owner.send('POST', '/sign-in', '{'));
  assertSafe(await owner.send('POST', '/sign-in', '{}', { origin: undefined }));
  assertSafe(await owner.send('GET', '/%zz'));
});

/** Sends bytes to a console and returns the answer. */
async function answerTo(origin: string, bytes: string): Promise<string> {
  const { port, hostname } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.end(bytes);
  let text = '';
  socket.on('data', (chunk) => {
    text += String(chunk);
  });
  await once(socket, 'close');
  return text;
}

answers('has the security headers even if the bytes are not a request', async () => {
  await using desk = await openConsole();
  const text = await answerTo(desk.origin, 'GET / HTTP/1.1\r\nbroken\r\n\r\n');
  assert.match(text, /^HTTP\/1\.1 400 .*content-security-policy: default-src 'none'/s);
});

// Report 24: a cookie of 20 kB was "not well-formed" (400).
answers('has status 431 if the request headers are too large', async () => {
  await using desk = await openConsole();
  const cookie = `GET / HTTP/1.1\r\nHost: x\r\nCookie: a=${'b'.repeat(20_000)}\r\n\r\n`;
  const text = await answerTo(desk.origin, cookie);
  assert.match(text, /^HTTP\/1\.1 431 .*content-security-policy: .*"headers_too_large"/s);
});

answers('has status 413 for a large body, and reports a duplicate key', async () => {
  await using desk = await openConsole();
  const large = JSON.stringify({ email: 'x'.repeat(40_000) });
  assert.is((await desk.browser().send('POST', '/sign-in', large)).status, 413);
  const twice = '{"email":"a@b.c","email":"d@e.f","password":"x"}';
  assert.is((await desk.browser().send('POST', '/sign-in', twice)).reason, 'duplicate_key');
});

answers('to an API key explains that the console accepts no keys', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const headers = { authorization: `Bearer svc_sk_${'a'.repeat(50)}` };
  for (const [method, path] of [
    ['GET', '/me'],
    ['POST', '/sign-in'],
  ] as const) {
    const reply = await owner.send(method, path, method === 'GET' ? undefined : SIGN_IN, headers);
    assert.equal([reply.status, reply.reason], [400, 'api_key_not_accepted']);
    assert.is(reply.headers['www-authenticate'], undefined);
  }
});

const others = suite('the account of another owner');

others('is inaccessible on every route', async () => {
  await using desk = await openConsole();
  const ada = await desk.owner();
  const bob = await desk.owner('bob@example.com', OTHER_ACCOUNT_ID);
  const carol = await desk.member(bob, 'carol@example.com', 'viewer');
  const invite = { email: 'dan@example.com', role: 'viewer' };
  const { data: invited } = await bob.expect(201, 'POST', '/members/invitations', invite);
  const idOf = async (browser: typeof bob) =>
    ((await browser.expect(200, 'GET', '/me')).data['user'] as { id: string }).id;
  const [bobId, carolId] = [await idOf(bob), await idOf(carol)];
  const sessionOf = ((await bob.expect(200, 'GET', '/me')).data['session'] as { id: string }).id;
  for (const [method, path, body] of [
    ['PATCH', `/members/${carolId}`, { role: 'owner' }],
    ['DELETE', `/members/${carolId}`, undefined],
    ['DELETE', `/members/${bobId}`, undefined],
    ['DELETE', `/members/invitations/${invited['id']}`, undefined],
    ['DELETE', `/sessions/${sessionOf}`, undefined],
    ['POST', '/account/switch', { account_id: OTHER_ACCOUNT_ID }],
  ] as const) {
    assert.is((await ada.send(method, path, body)).status, 404, `${method} ${path}`);
  }
  const { data } = await ada.expect(200, 'GET', '/members');
  assert.is((data['members'] as unknown[]).length, 1);
  assert.is(((await bob.expect(200, 'GET', '/members')).data['members'] as unknown[]).length, 2);
});

const links = suite('an account');

links('accepts each invitation once, and no other link', async () => {
  await using desk = await openConsole();
  const ada = await desk.owner();
  const invite = { email: 'bob@example.com', role: 'viewer' };
  const { data } = await ada.expect(201, 'POST', '/members/invitations', invite);
  const token = tokenIn(data['link']);
  const accept = { token, password: PASSWORD, name: 'Bob' };
  const asSetUp = { ...accept, email: 'bob@example.com' };
  assert.is((await desk.browser().send('POST', '/setup', asSetUp)).status, 404);
  const elsewhere = { ...accept, token: token.replace(/^\w{12}/, OTHER_ACCOUNT_ID) };
  assert.is((await desk.browser().send('POST', '/invitations/accept', elsewhere)).status, 404);
  const replies = await Promise.all(
    [1, 2, 3].map(() => desk.browser().send('POST', '/invitations/accept', accept)),
  );
  assert.is(replies.filter(({ status }) => status === 201).length, 1);
  assert.is((await desk.browser().send('POST', '/invitations/accept', accept)).status, 404);
  const { data: late } = await ada.expect(201, 'POST', '/members/invitations', {
    ...invite,
    email: 'late@example.com',
  });
  desk.clock.advance(7 * 24 * 60 * 60_000);
  const tooLate = { ...accept, token: tokenIn(late['link']) };
  assert.is((await desk.browser().send('POST', '/invitations/accept', tooLate)).status, 404);
});

links('accepts only the latest set-up link, and only for a day', async () => {
  await using desk = await openConsole();
  const [first, second] = [await desk.setUpToken(), await desk.setUpToken()];
  const body = { email: EMAIL, password: PASSWORD, name: 'Ada' };
  assert.is((await desk.browser().send('POST', '/setup', { ...body, token: first })).status, 404);
  desk.clock.advance(24 * 60 * 60_000);
  assert.is((await desk.browser().send('POST', '/setup', { ...body, token: second })).status, 404);
});

links('gets one member if several people use a link concurrently', async () => {
  await using desk = await openConsole();
  const token = await desk.setUpToken();
  const replies = await Promise.all(
    ['ada', 'bob', 'carol'].map((name) => {
      const body = { token, email: `${name}@example.com`, password: PASSWORD, name };
      return desk.browser().send('POST', '/setup', body);
    }),
  );
  assert.is(replies.filter(({ status }) => status === 201).length, 1);
  const names = ['ada', 'bob', 'carol'].map((name) => `${name}@example.com`);
  const users = await Promise.all(
    names.map((email) => desk.ports.users.findByEmail(email, ACCOUNT_ID)),
  );
  assert.is(users.filter((user) => user !== undefined).length, 1);
});

// Report 12: console routes outside the instance API had no rate limit.
answers('has status 429 after too many requests a minute from one user or network', async () => {
  await using desk = await openConsole();
  const ada = await desk.owner();
  for (let at = 0; at < 300; at += 1) await ada.expect(200, 'GET', '/me');
  assert.equal((await ada.send('GET', '/me')).error, 'rate_limited');
  const stranger = desk.browser('198.51.100.9');
  for (let at = 0; at < 120; at += 1) await stranger.expect(200, 'GET', '/setup');
  assert.equal((await stranger.send('GET', '/setup')).error, 'rate_limited');
  assert.is((await desk.browser('198.51.100.10').send('GET', '/setup')).status, 200);
  desk.clock.advance(60_000);
  await ada.expect(200, 'GET', '/me');
});

const origins = suite('a console without a public origin');

origins('serves only the loopback addresses of its port', () => {
  assert.equal(loopbackOrigins('127.0.0.1', 8002), [
    'http://127.0.0.1:8002',
    'http://localhost:8002',
    'http://[::1]:8002',
  ]);
});

// Report 24: a console at ::1 printed a link to 127.0.0.1, where nothing listened.
origins('uses its listening address in links', () => {
  assert.is(loopbackOrigins('::1', 8002)[0], 'http://[::1]:8002');
  assert.is(loopbackOrigins('127.0.0.5', 8002)[0], 'http://127.0.0.5:8002');
  assert.is(loopbackOrigins('localhost', 8002)[0], 'http://localhost:8002');
});

// Report 24: the refusal of a wrong host named neither the host nor the variable.
origins('names the refused host, its own address and the variable to change', async () => {
  await using desk = await openConsole();
  const reply = await desk.browser().send('GET', '/me', undefined, { host: 'wrong.example' });
  assert.is(reply.reason, 'wrong_host');
  assert.match(
    reply.body.message,
    `"wrong.example" is not an address of this console: use ${desk.origin}`,
  );
  assert.match(reply.body.message, 'SERVICE_CONSOLE_ORIGIN');
});

for (const each of [sites, sessions, answers, others, links, origins]) each.run();
