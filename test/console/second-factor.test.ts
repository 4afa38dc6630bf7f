import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { unchanging } from '#stdlib/files';
import type { Browser } from '#test/console/browser';
import {
  ACCOUNT_ID,
  openConsole,
  PASSWORD,
  type TestConsole,
  tokenIn,
} from '#test/console/console-fixture';
import { codeOf as codeAt } from '#test/console/totp-code';

const EMAIL = 'ada@example.com';

const STEP_MS = 30_000;

/** An authenticator's code, `steps` time steps from now. */
function codeOf(secret: string, { clock }: TestConsole, steps = 0): string {
  return codeAt(secret, clock.wallMs() + steps * STEP_MS);
}

/** An owner with a second factor. */
async function enrolled(desk: TestConsole) {
  const browser = await desk.owner();
  const { data } = await browser.expect(200, 'POST', '/second-factor', { password: PASSWORD });
  const secret = String(data['secret']);
  const confirmed = await browser.expect(200, 'POST', '/second-factor/confirm', {
    code: codeOf(secret, desk),
  });
  desk.clock.advance(STEP_MS);
  return { browser, secret, uri: String(data['uri']), codes: codesIn(confirmed.data) };
}

function codesIn(data: Record<string, unknown>): string[] {
  return data['recovery_codes'] as string[];
}

/** A browser that has entered the password but no code. */
async function halfWay(desk: TestConsole): Promise<Browser> {
  const browser = desk.browser();
  const reply = await browser.signIn(EMAIL, PASSWORD);
  assert.equal([reply.status, reply.data], [200, { state: 'second_factor' }]);
  return browser;
}

const withCode = (browser: Browser, code: string) =>
  browser.send('POST', '/sign-in/second-factor', { code });

const factor = suite('a second factor');

factor('is enabled only after a code has proved that the user has the secret', async () => {
  await using desk = await openConsole();
  const browser = await desk.owner();
  assert.is(
    (await browser.send('POST', '/second-factor', { password: 'no' })).reason,
    'wrong_password',
  );
  const { data } = await browser.expect(200, 'POST', '/second-factor', { password: PASSWORD });
  const secret = String(data['secret']);
  assert.match(secret, /^[A-Z2-7]{32}$/);
  assert.match(
    String(data['uri']),
    /^otpauth:\/\/totp\/Identity%20Engine:ada%40example\.com\?.*period=30/,
  );
  assert.is((await desk.browser().signIn(EMAIL, PASSWORD)).data['state'], 'signed_in', 'not yet');
  assert.is((await browser.send('POST', '/second-factor/confirm', { code: '000000' })).status, 401);
  const code = codeOf(secret, desk, 1);
  const confirmed = await browser.expect(200, 'POST', '/second-factor/confirm', { code });
  assert.is(new Set(codesIn(confirmed.data)).size, 10);
  const { data: me } = await browser.expect(200, 'GET', '/me');
  assert.is((me['user'] as Record<string, unknown>)['second_factor'], 'on');
  assert.is((me['session'] as Record<string, unknown>)['authenticated_by'], 'password+totp');
});

factor('is required at every sign-in, before any other request', async () => {
  await using desk = await openConsole();
  const other = desk.browser();
  const { secret } = await enrolled(desk);
  await other.signIn(EMAIL, PASSWORD);
  assert.is((await other.send('GET', '/me')).reason, 'second_factor_needed');
  assert.is((await other.send('PUT', '/password', {})).reason, 'second_factor_needed');
  const half = other.cookies.get('session');
  assert.is((await withCode(other, '123456')).reason, 'wrong_code');
  assert.is((await withCode(other, codeOf(secret, desk))).status, 200);
  assert.is.not(other.cookies.get('session'), half, 'the cookie changes');
  await other.expect(200, 'GET', '/me');
  other.cookies.set('session', half ?? '');
  assert.is((await other.send('GET', '/me')).status, 401, 'the earlier cookie is invalid');
});

factor('ends earlier sessions that have not entered a code', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const earlier = desk.browser();
  await earlier.signIn(EMAIL, PASSWORD);
  const { data } = await owner.expect(200, 'POST', '/second-factor', { password: PASSWORD });
  const code = codeOf(String(data['secret']), desk);
  await owner.expect(200, 'POST', '/second-factor/confirm', { code });
  assert.is((await earlier.send('GET', '/me')).reason, 'sign_in_needed');
  await owner.expect(200, 'GET', '/me');
});

// Report 11: sessions ended by a second factor became valid again when it was disabled.
factor(
  'does not make ended sessions or unfinished sign-ins valid when it is disabled',
  async () => {
    await using desk = await openConsole();
    const owner = await desk.owner();
    const earlier = desk.browser();
    await earlier.signIn(EMAIL, PASSWORD);
    const { data } = await owner.expect(200, 'POST', '/second-factor', { password: PASSWORD });
    const code = codeOf(String(data['secret']), desk);
    await owner.expect(200, 'POST', '/second-factor/confirm', { code });
    const half = await halfWay(desk);
    await owner.expect(204, 'POST', '/second-factor/disable', { password: PASSWORD });
    for (const ended of [earlier, half]) {
      assert.is((await ended.send('GET', '/me')).reason, 'sign_in_needed');
    }
    await owner.expect(200, 'GET', '/me');
  },
);

// Report 11: an invitation was accepted with a password alone, though the user had a second factor.
factor('is required when an existing user accepts an invitation', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const bob = await desk.member(owner, 'bob@example.com', 'developer');
  const { data } = await bob.expect(200, 'POST', '/second-factor', { password: PASSWORD });
  const secret = String(data['secret']);
  await bob.expect(200, 'POST', '/second-factor/confirm', { code: codeOf(secret, desk) });
  const { data: me } = await bob.expect(200, 'GET', '/me');
  const bobId = String((me['user'] as Record<string, unknown>)['id']);
  await owner.expect(200, 'DELETE', `/members/${bobId}`);
  const invite = { email: 'bob@example.com', role: 'developer' };
  const { data: invited } = await owner.expect(201, 'POST', '/members/invitations', invite);
  const accept = { token: tokenIn(invited['link']), password: PASSWORD, name: 'Bob' };
  const browser = desk.browser();
  const send = (code?: string) =>
    browser.send('POST', '/invitations/accept', code === undefined ? accept : { ...accept, code });
  assert.is((await send()).reason, 'second_factor_needed');
  assert.is((await send('123456')).reason, 'wrong_code');
  assert.is((await desk.ports.members.find(ACCOUNT_ID)).members.length, 1);
  desk.clock.advance(STEP_MS);
  assert.is((await send(codeOf(secret, desk))).status, 201);
  const { data: now } = await browser.expect(200, 'GET', '/me');
  assert.is((now['session'] as Record<string, unknown>)['authenticated_by'], 'password+totp');
  assert.is((now['user'] as Record<string, unknown>)['id'], bobId);
});

factor('accepts each code once, however many browsers send it in parallel', async () => {
  await using desk = await openConsole();
  const { secret } = await enrolled(desk);
  const code = codeOf(secret, desk);
  const browsers = [await halfWay(desk), await halfWay(desk), await halfWay(desk)];
  const replies = await Promise.all(browsers.map((browser) => withCode(browser, code)));
  assert.equal(replies.map(({ status }) => status).sort(), [200, 401, 401]);
  const late = await halfWay(desk);
  assert.is((await withCode(late, code)).reason, 'wrong_code');
  assert.is(
    (await withCode(late, codeOf(secret, desk, -1))).reason,
    'wrong_code',
    'an earlier code',
  );
  assert.is((await withCode(late, codeOf(secret, desk, 2))).reason, 'wrong_code', 'too far ahead');
  desk.clock.advance(4_000);
  assert.is((await withCode(late, codeOf(secret, desk, 1))).status, 200);
});

factor('can be replaced by a recovery code, which works once', async () => {
  await using desk = await openConsole();
  const { codes, browser } = await enrolled(desk);
  const [first = '', second = ''] = codes;
  const typed = first.toUpperCase().replaceAll('-', ' ');
  assert.is((await withCode(await halfWay(desk), typed)).status, 200);
  assert.is((await withCode(await halfWay(desk), first)).reason, 'wrong_code');
  const path = '/second-factor/recovery-codes';
  const renewed = await browser.expect(200, 'POST', path, { password: PASSWORD });
  assert.is((await withCode(await halfWay(desk), second)).reason, 'wrong_code', 'a replaced code');
  assert.is((await withCode(await halfWay(desk), codesIn(renewed.data)[0] ?? '')).status, 200);
});

factor('must be entered within five minutes', async () => {
  await using desk = await openConsole();
  const { secret } = await enrolled(desk);
  const browser = await halfWay(desk);
  desk.clock.advance(5 * 60_000);
  assert.is((await withCode(browser, codeOf(secret, desk))).reason, 'sign_in_needed');
});

factor('is throttled for a caller that guesses codes', async () => {
  await using desk = await openConsole();
  const { secret } = await enrolled(desk);
  const browser = await halfWay(desk);
  const replies: number[] = [];
  for (let attempts = 0; attempts < 7; attempts += 1)
    replies.push((await withCode(browser, '000000')).status);
  assert.equal(replies, [401, 401, 401, 401, 401, 429, 429]);
  assert.is((await withCode(browser, codeOf(secret, desk))).status, 429, 'even a right code');
  desk.clock.advance(2_000);
  assert.is((await withCode(browser, codeOf(secret, desk))).status, 200);
});

factor('is disabled with the password', async () => {
  await using desk = await openConsole();
  const { browser } = await enrolled(desk);
  const path = '/second-factor/disable';
  assert.is((await browser.send('POST', path, { password: 'no' })).reason, 'wrong_password');
  assert.is((await browser.send('POST', '/second-factor', { password: PASSWORD })).status, 409);
  await browser.expect(204, 'POST', path, { password: PASSWORD });
  assert.is((await desk.browser().signIn(EMAIL, PASSWORD)).data['state'], 'signed_in');
});

factor('cannot be enabled without a cluster secret', async () => {
  await using desk = await openConsole({ secrets: undefined });
  const browser = await desk.owner();
  const reply = await browser.send('POST', '/second-factor', { password: PASSWORD });
  assert.equal([reply.status, reply.reason], [409, 'second_factor_unavailable']);
});

factor('keeps working while the cluster secret is rotated', async () => {
  const secrets: { current: readonly string[] } = { current: ['the first one of all'] };
  await using desk = await openConsole({
    secrets: {
      ...unchanging(secrets.current),
      get current() {
        return secrets.current;
      },
    },
  });
  const { secret } = await enrolled(desk);
  const sealed = async () =>
    (await desk.ports.users.findByEmail(EMAIL, ACCOUNT_ID))?.user.secondFactor?.sealedSecret;
  const before = await sealed();
  secrets.current = ['the second one now', 'the first one of all'];
  assert.is((await withCode(await halfWay(desk), codeOf(secret, desk))).status, 200);
  assert.is.not(await sealed(), before, 'use encrypts the secret again');
  secrets.current = ['the second one now'];
  desk.clock.advance(STEP_MS);
  assert.is((await withCode(await halfWay(desk), codeOf(secret, desk))).status, 200);
  secrets.current = ['another one'];
  desk.clock.advance(STEP_MS);
  assert.is((await withCode(await halfWay(desk), codeOf(secret, desk))).reason, 'wrong_code');
});

factor.run();
