import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ACCOUNT_ID, openConsole, PASSWORD, tokenIn } from '#test/console/console-fixture';

const links = suite('the description of an entry link');

links('names account, inviter, role and email, and does not use the link', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const invited = { email: 'vera@example.com', role: 'viewer' };
  const { data } = await owner.expect(201, 'POST', '/members/invitations', invited);
  const token = tokenIn(data['link']);
  const visitor = desk.browser();
  for (let n = 0; n < 2; n += 1) {
    const { data: view } = await visitor.expect(200, 'POST', '/entry-link', {
      ...{ token, kind: 'invitation' },
    });
    const account = { id: ACCOUNT_ID, name: `Account ${ACCOUNT_ID}` };
    const expires_at = data['expires_at'];
    assert.equal(view, { account, ...invited, invited_by: 'Ada', expires_at });
  }
  const lines = desk.audited.length;
  const body = { token, password: PASSWORD, name: 'Vera' };
  await visitor.expect(201, 'POST', '/invitations/accept', body);
  assert.ok(desk.audited.length > lines);
});

links('is the same refusal for each link that cannot be used', async () => {
  await using desk = await openConsole();
  const setUp = await desk.setUpToken();
  const setUpBody = { token: setUp, kind: 'setup' };
  const { data: view } = await desk.browser().expect(200, 'POST', '/entry-link', setUpBody);
  assert.equal([view['role'], view['email']], ['owner', undefined]);
  const owner = await desk.owner();
  const invited = { email: 'vera@example.com', role: 'viewer' };
  const { data } = await owner.expect(201, 'POST', '/members/invitations', invited);
  const token = tokenIn(data['link']);
  const answers: unknown[] = [];
  const describe = async (body: object) => {
    const {
      status,
      reason,
      data: refusal,
    } = await desk.browser().send('POST', '/entry-link', body);
    answers.push([status, reason, refusal['message']]);
  };
  await describe(setUpBody);
  await describe({ token, kind: 'setup' });
  await describe({
    token: token.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')),
    kind: 'invitation',
  });
  await describe({ token: token.replace(ACCOUNT_ID, 'noSuchAccnt1'), kind: 'invitation' });
  await describe({ token: 'nonsense', kind: 'invitation' });
  desk.clock.advance(7 * 24 * 60 * 60_000);
  await describe({ token, kind: 'invitation' });
  const text = 'this link was used, withdrawn or has expired';
  assert.equal(
    answers,
    answers.map(() => [404, 'link_not_usable', text]),
  );
});

links('is limited to the requests that a network may send without a session', async () => {
  await using desk = await openConsole();
  const eve = desk.browser('198.51.100.66');
  const statuses = new Map<number, number>();
  for (let n = 0; n < 125; n += 1) {
    const body = { token: `${ACCOUNT_ID}.${String(n).padStart(43, '0')}`, kind: 'invitation' };
    const { status } = await eve.send('POST', '/entry-link', body);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  assert.equal(
    [...statuses],
    [
      [404, 120],
      [429, 5],
    ],
  );
});

links.run();
