import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { setCookies } from '#test/console/browser';
import { ACCOUNT_ID, openConsole, PASSWORD, tokenIn } from '#test/console/console-fixture';

type Shown = Record<string, unknown>;

const flows = suite('the console');

flows('accepts a set-up link only once', async () => {
  await using desk = await openConsole();
  const browser = desk.browser();
  assert.equal((await browser.expect(200, 'GET', '/setup')).data, { is_needed: true });
  const token = await desk.setUpToken();
  const body = { token, email: ' Ada@Example.com ', password: PASSWORD, name: ' Ada ' };
  assert.equal((await browser.expect(201, 'POST', '/setup', body)).data, { state: 'signed_in' });
  assert.equal((await browser.expect(200, 'GET', '/setup')).data, { is_needed: false });
  const { data: me } = await browser.expect(200, 'GET', '/me');
  const { id, ...user } = me['user'] as Record<string, unknown>;
  assert.match(String(id), /^usr_[0-9a-f]{16}$/);
  const factor = { second_factor: 'off', recovery_codes_left: 0 };
  assert.equal(user, { email: 'ada@example.com', name: 'Ada', ...factor });
  assert.equal(me['account'], { id: ACCOUNT_ID, name: `Account ${ACCOUNT_ID}` });
  assert.is(me['role'], 'owner');
  assert.ok((me['permissions'] as string[]).includes('members'));
  const again = await desk.browser().send('POST', '/setup', { ...body, email: 'eve@example.com' });
  assert.equal([again.status, again.reason], [404, 'link_not_usable']);
  assert.equal(
    desk.audited.map(({ action, outcome }) => `${action} ${outcome}`),
    ['account.set_up begun', 'account.set_up done', 'session.begin begun', 'session.begin done'],
  );
});

flows('signs users in with email and password, and signs users out', async () => {
  await using desk = await openConsole();
  await desk.owner();
  const browser = desk.browser();
  assert.is((await browser.send('GET', '/me')).reason, 'sign_in_needed');
  const reply = await browser.signIn('ADA@example.com', PASSWORD);
  assert.equal([reply.status, reply.data], [200, { state: 'signed_in' }]);
  for (const line of setCookies(reply))
    assert.match(line, /; Path=\/; HttpOnly; SameSite=Strict$|Max-Age/);
  await browser.expect(200, 'GET', '/me');
  const { session } = Object.fromEntries(browser.cookies);
  await browser.expect(204, 'POST', '/sign-out', {});
  assert.is(browser.cookies.has('session'), false);
  browser.cookies.set('session', session ?? '');
  assert.is((await browser.send('GET', '/me')).status, 401, 'the old cookie is invalid');
});

flows('lists sessions, ends one of them, and ends all except the current session', async () => {
  await using desk = await openConsole();
  const first = await desk.owner();
  const second = desk.browser('198.51.100.9');
  const third = desk.browser();
  for (const browser of [second, third]) await browser.signIn('ada@example.com', PASSWORD);
  const { data } = await second.expect(200, 'GET', '/sessions');
  const sessions = data as unknown as Record<string, unknown>[];
  assert.is(sessions.length, 3);
  const own = sessions.filter((each) => each['is_current'] === true);
  assert.equal(
    own.map(({ address, client }) => [address, client]),
    [['198.51.100.9', 'a browser']],
  );
  const other = (await third.expect(200, 'GET', '/me')).data['session'] as { id: string };
  await second.expect(204, 'DELETE', `/sessions/${other.id}`);
  assert.is((await third.send('GET', '/me')).status, 401);
  await second.expect(404, 'DELETE', `/sessions/${other.id}`);
  await second.expect(204, 'DELETE', '/sessions');
  assert.is((await first.send('GET', '/me')).status, 401);
  await second.expect(200, 'GET', '/me');
});

flows(
  'renews the session cookie and ends all other sessions when a user changes a password',
  async () => {
    await using desk = await openConsole();
    const browser = await desk.owner();
    const other = desk.browser();
    await other.signIn('ada@example.com', PASSWORD);
    const before = browser.cookies.get('session');
    const next = 'something quite different';
    const wrong = await browser.send('PUT', '/password', { password: 'wrong', new_password: next });
    assert.equal([wrong.status, wrong.reason], [403, 'wrong_password']);
    const weak = { password: PASSWORD, new_password: 'password1234' };
    assert.is((await browser.send('PUT', '/password', weak)).reason, 'weak_password');
    await browser.expect(204, 'PUT', '/password', { password: PASSWORD, new_password: next });
    assert.is.not(browser.cookies.get('session'), before);
    await browser.expect(200, 'GET', '/me');
    assert.is((await other.send('GET', '/me')).status, 401);
    assert.is((await desk.browser().signIn('ada@example.com', PASSWORD)).status, 401);
    assert.is((await desk.browser().signIn('ada@example.com', next)).status, 200);
  },
);

flows('invites, changes and removes members', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const bob = await desk.member(owner, 'bob@example.com', 'developer');
  const { data: me } = await bob.expect(200, 'GET', '/me');
  assert.is(me['role'], 'developer');
  assert.is((await bob.send('GET', '/members')).reason, 'role_not_allowed');
  const { data } = await owner.expect(200, 'GET', '/members');
  const members = data['members'] as { id: string; email: string; role: string }[];
  assert.equal(
    members.map(({ email, role }) => [email, role]),
    [
      ['ada@example.com', 'owner'],
      ['bob@example.com', 'developer'],
    ],
  );
  const [ada, second] = members;
  await owner.expect(200, 'PATCH', `/members/${second?.id}`, { role: 'viewer' });
  assert.is((await bob.expect(200, 'GET', '/me')).data['role'], 'viewer', 'applies immediately');
  const last = await owner.send('PATCH', `/members/${ada?.id}`, { role: 'viewer' });
  assert.equal([last.status, last.reason], [409, 'last_owner']);
  assert.is((await owner.send('DELETE', `/members/${ada?.id}`)).reason, 'last_owner');
  const removed = desk.audited.filter(({ action }) => action === 'member.remove');
  assert.equal(
    removed.map(({ outcome }) => outcome),
    ['begun', 'conflict'],
  );
  await owner.expect(200, 'DELETE', `/members/${second?.id}`);
  assert.is((await bob.send('GET', '/me')).status, 401, 'the session has ended');
  assert.is((await desk.browser().signIn('bob@example.com', PASSWORD)).reason, 'no_account');
});

// Report 10: a removed owner returned with an old invitation, and the owner's keys were not listed.
flows('cancels the invitations of a removed or demoted owner, and lists the keys', async () => {
  await using desk = await openConsole();
  const ada = await desk.owner();
  for (const change of ['remove', 'demote'] as const) {
    const eve = await desk.member(ada, `eve.${change}@example.com`, 'owner');
    const eveId = String(((await eve.expect(200, 'GET', '/me')).data['user'] as Shown)['id']);
    const body = { email: `friend.${change}@example.com`, role: 'owner' };
    const { data: invited } = await eve.expect(201, 'POST', '/members/invitations', body);
    const { data: key } = await eve.expect(201, 'POST', '/keys', { name: 'Hers', scope: 'full' });
    const { data: left } =
      change === 'remove'
        ? await ada.expect(200, 'DELETE', `/members/${eveId}`)
        : await ada.expect(200, 'PATCH', `/members/${eveId}`, { role: 'viewer' });
    const idsOf = (part: string) => (left[part] as Shown[]).map(({ id }) => id);
    assert.equal(idsOf('cancelled_invitations'), [invited['id']], change);
    assert.equal(idsOf('keys'), [key['id']], change);
    const accept = { token: tokenIn(invited['link']), password: PASSWORD, name: 'Eve' };
    const back = await desk.browser().send('POST', '/invitations/accept', accept);
    assert.equal([back.status, back.reason], [404, 'link_not_usable'], change);
    const listed = (await ada.expect(200, 'GET', '/keys')).data as unknown as Shown[];
    const hers = listed.find(({ id }) => id === key['id']);
    assert.equal(hers?.['created_by'], { kind: 'user', id: eveId, name: 'A Member' });
    assert.ok(JSON.stringify(hers?.['hints']).includes('maker_gone'), change);
    await ada.expect(200, 'DELETE', `/keys/${key['id']}`);
  }
});

flows('cancels invitations without a recorded author when an owner is removed', async () => {
  await using desk = await openConsole();
  const ada = await desk.owner();
  const eve = await desk.member(ada, 'eve@example.com', 'owner');
  const eveId = String(((await eve.expect(200, 'GET', '/me')).data['user'] as Shown)['id']);
  const createdAtMs = desk.clock.wallMs();
  const times = { createdAtMs, expiresAtMs: createdAtMs + 60_000 };
  const link = { kind: 'invitation', accountId: ACCOUNT_ID, email: 'x@example.com' } as const;
  await desk.ports.members.addLink({ ...link, ...times, digest: 'd'.repeat(43), role: 'owner' });
  await ada.expect(200, 'DELETE', `/members/${eveId}`);
  assert.equal((await desk.ports.members.find(ACCOUNT_ID)).links, []);
});

flows('lists invitations without their tokens, and revokes them', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const body = { email: 'bob@example.com', role: 'billing' };
  const { data: invited } = await owner.expect(201, 'POST', '/members/invitations', body);
  assert.ok(String(invited['link']).startsWith(`${desk.origin}/#/invitation/`));
  const listed = (await owner.expect(200, 'GET', '/members')).data['invitations'];
  const { link, ...shown } = invited;
  assert.equal(listed, [{ ...shown, created_by: 'Ada' }]);
  await owner.expect(204, 'DELETE', `/members/invitations/${invited['id']}`);
  const accept = { token: tokenIn(link), password: PASSWORD, name: 'Bob' };
  assert.is((await desk.browser().send('POST', '/invitations/accept', accept)).status, 404);
  const known = await owner.send('POST', '/members/invitations', {
    ...body,
    email: 'ada@example.com',
  });
  assert.equal([known.status, known.reason], [409, 'already_exists']);
});

flows('lets a signed-in user join several accounts', async () => {
  await using desk = await openConsole();
  const ada = await desk.owner();
  const bob = await desk.owner('bob@example.com', 'accountOfBob');
  const inviteFor = async (email: string) => {
    const body = { email, role: 'viewer' };
    const { data } = await bob.expect(201, 'POST', '/members/invitations', body);
    return { token: tokenIn(data['link']) };
  };
  const other = await ada.send('POST', '/invitations/join', await inviteFor('eve@example.com'));
  assert.equal([other.status, other.reason], [403, 'other_address']);
  const own = await inviteFor('ada@example.com');
  assert.is((await desk.browser().send('POST', '/invitations/join', own)).status, 401);
  await ada.expect(201, 'POST', '/invitations/join', own);
  assert.is((await ada.send('POST', '/invitations/join', own)).status, 404, 'used');
  assert.is((await ada.expect(200, 'GET', '/me')).data['role'], 'viewer');
  await ada.expect(200, 'POST', '/account/switch', { account_id: ACCOUNT_ID });
  const { data: accounts } = await ada.expect(200, 'GET', '/accounts');
  assert.equal(
    (accounts as unknown as { id: string; role: string }[]).map(({ id, role }) => [id, role]),
    [
      [ACCOUNT_ID, 'owner'],
      ['accountOfBob', 'viewer'],
    ],
  );
  const before = ada.cookies.get('session');
  await ada.expect(200, 'POST', '/account/switch', { account_id: 'accountOfBob' });
  assert.is.not(ada.cookies.get('session'), before);
  assert.is((await ada.expect(200, 'GET', '/me')).data['role'], 'viewer');
  const none = await ada.send('POST', '/account/switch', { account_id: 'accountOfEve' });
  assert.is(none.status, 404);
});

// Report 11: an inviter learned whether an email had a user, and could guess the user's password.
flows('does not reveal to an inviter whether an email has a user in another account', async () => {
  await using desk = await openConsole();
  await desk.owner('ada@example.com');
  const bob = await desk.owner('bob@example.com', 'accountOfBob');
  const seen: unknown[] = [];
  for (const email of ['ada@example.com', 'nobody@example.com']) {
    const body = { email, role: 'viewer' };
    const { data, status } = await bob.expect(201, 'POST', '/members/invitations', body);
    const accept = { token: tokenIn(data['link']), password: 'chosen by the inviter', name: 'X' };
    const weak = await desk.browser().send('POST', '/invitations/accept', {
      ...accept,
      password: 'short',
    });
    const browser = desk.browser();
    const { status: accepted } = await browser.send('POST', '/invitations/accept', accept);
    const { data: accounts } = await browser.expect(200, 'GET', '/accounts');
    const signIns = [];
    for (const account of [undefined, ACCOUNT_ID, 'accountOfBob']) {
      const reply = await desk.browser().signIn(email, accept.password, account);
      signIns.push([reply.status, reply.reason]);
    }
    seen.push([status, weak.status, weak.reason, accepted, accounts, signIns]);
  }
  assert.equal(seen[0], seen[1]);
  assert.is((await desk.browser().signIn('ada@example.com', PASSWORD)).status, 200);
});

flows('names the field and the reason if a body is invalid', async () => {
  await using desk = await openConsole();
  const token = await desk.setUpToken();
  const body = { token, email: 'ada@example.com', password: PASSWORD, name: 'Ada' };
  for (const [changed, field, reason] of [
    [{ email: 'ada' }, 'email', 'invalid_text'],
    [{ email: undefined }, 'email', 'missing_field'],
    [{ name: ' ' }, 'name', 'too_short'],
    [{ name: 'A\u202eda' }, 'name', 'invalid_text'],
    [{ password: 'short' }, 'password', 'too_short'],
    [{ password: 'x'.repeat(129) }, 'password', 'too_long'],
    [{ password: 'ada@example.com1' }, 'password', 'weak_password'],
    [{ role: 'owner' }, 'role', 'unknown_field'],
  ] as const) {
    const reply = await desk.browser().send('POST', '/setup', { ...body, ...changed });
    const { details } = reply.data as { details?: { field: string } };
    assert.equal([reply.status, details?.field, reply.reason], [422, field, reason]);
  }
  await desk.browser().expect(201, 'POST', '/setup', body);
});

flows('refuses changes and sign-ins while the audit trail cannot be written', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  desk.failAudit(true);
  const invitation = { email: 'bob@example.com', role: 'viewer' };
  const reply = await owner.send('POST', '/members/invitations', invitation);
  assert.equal([reply.status, reply.reason], [503, 'audit_unavailable']);
  const next = { password: PASSWORD, new_password: 'something quite different' };
  assert.is((await owner.send('PUT', '/password', next)).status, 503);
  assert.is((await owner.send('DELETE', '/sessions')).status, 503);
  assert.is((await desk.browser().signIn('ada@example.com', PASSWORD)).status, 503);
  desk.failAudit(false);
  assert.equal((await owner.expect(200, 'GET', '/members')).data['invitations'], []);
  assert.is((await desk.browser().signIn('ada@example.com', PASSWORD)).status, 200);
});

flows.run();
