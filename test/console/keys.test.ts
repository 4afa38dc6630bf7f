import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ACCOUNT_ID, OTHER_ACCOUNT_ID, openConsole } from '#test/console/console-fixture';

type Shown = Record<string, unknown>;

const keys = suite('API keys in the console');

keys(
  'are created, shown once, listed without the secret, renamed, rotated, disabled and revoked',
  async () => {
    await using desk = await openConsole();
    const owner = await desk.owner();
    const body = { name: 'Production', scope: 'full', networks: ['203.0.113.0/24'] };
    const { data: made } = await owner.expect(201, 'POST', '/keys', body);
    assert.match(String(made['key']), /^svc_sk_accountOfAda\w{38}$/);
    const path = `/keys/${made['id']}`;
    const list = async () => (await owner.expect(200, 'GET', '/keys')).data as unknown as Shown[];
    const [listed] = await list();
    assert.equal(
      [listed?.['name'], listed?.['scope'], listed?.['status'], listed?.['networks']],
      ['Production', 'full', 'active', ['203.0.113.0/24']],
    );
    assert.not.match(JSON.stringify(await list()), /svc_sk_\w{20}/);
    await owner.expect(200, 'PATCH', path, { name: 'Staging' });
    await owner.expect(200, 'POST', `${path}/disable`, {});
    assert.is((await list())[0]?.['status'], 'disabled');
    await owner.expect(200, 'POST', `${path}/enable`, {});
    const { data: next } = await owner.expect(201, 'POST', `${path}/rotate`, {
      grace_seconds: 3_600,
    });
    assert.equal([next['name'], next['networks']], ['Staging', ['203.0.113.0/24']]);
    assert.is((await list())[0]?.['replaced_by'], next['id']);
    await owner.expect(200, 'DELETE', `/keys/${next['id']}`);
    assert.is((await list())[1]?.['status'], 'revoked');
  },
);

keys('are changed by roles that allow it, in their own account only', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const { data: made } = await owner.expect(201, 'POST', '/keys', { name: 'One', scope: 'full' });
  const viewer = await desk.member(owner, 'vera@example.com', 'viewer');
  const billing = await desk.member(owner, 'bill@example.com', 'billing');
  const developer = await desk.member(owner, 'dev@example.com', 'developer');
  const path = `/keys/${made['id']}`;
  await viewer.expect(200, 'GET', '/keys');
  for (const refused of [viewer, billing]) {
    await refused.expect(403, 'POST', '/keys', { name: 'x', scope: 'full' });
    for (const way of ['disable', 'enable', 'rotate']) {
      await refused.expect(403, 'POST', `${path}/${way}`, { grace_seconds: 0 });
    }
    await refused.expect(403, 'DELETE', path);
    await refused.expect(403, 'GET', '/audit');
    await refused.expect(403, 'GET', '/audit/export');
  }
  await billing.expect(403, 'GET', '/keys');
  await developer.expect(200, 'POST', `${path}/disable`, {});
  const stranger = await desk.owner('bob@example.com', OTHER_ACCOUNT_ID);
  assert.equal((await stranger.expect(200, 'GET', '/keys')).data, []);
  await stranger.expect(404, 'DELETE', path);
  const { data } = await stranger.expect(200, 'GET', '/audit?action=key');
  assert.not.match(JSON.stringify(data), new RegExp(ACCOUNT_ID));
});

// Report 9: a developer could create a key for audit trail and billing, which the role does not allow.
keys('never have more rights than the role of the member who grants them', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const developer = await desk.member(owner, 'dev@example.com', 'developer');
  const make = { name: 'One', scope: 'full' };
  for (const scope of ['audit', 'billing', 'full audit', 'read billing', 'full audit billing']) {
    const refused = await developer.send('POST', '/keys', { ...make, scope });
    assert.equal([refused.status, refused.reason], [403, 'role_not_allowed'], scope);
  }
  const { data: own } = await developer.expect(201, 'POST', '/keys', make);
  const ownPath = `/keys/${own['id']}`;
  await developer.expect(200, 'PUT', `${ownPath}/scope`, { scope: 'read' });
  await developer.expect(403, 'PUT', `${ownPath}/scope`, { scope: 'read audit' });
  // An owner decides the scopes of an existing key.
  const { data: given } = await owner.expect(200, 'PUT', `${ownPath}/scope`, {
    scope: 'full audit',
  });
  assert.is(given['scope'], 'full audit');
  await developer.expect(403, 'PUT', `${ownPath}/scope`, { scope: 'full' });
  await developer.expect(403, 'POST', `${ownPath}/rotate`, { grace_seconds: 0 });
  await developer.expect(200, 'POST', `${ownPath}/disable`, {});
  await developer.expect(403, 'POST', `${ownPath}/enable`, {});
  await owner.expect(200, 'POST', `${ownPath}/enable`, {});
  await developer.expect(200, 'DELETE', ownPath);
});

keys('are not changed when the audit trail cannot be written', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  desk.failAudit(true);
  await owner.expect(503, 'POST', '/keys', { name: 'One', scope: 'full' });
  assert.equal((await owner.expect(200, 'GET', '/keys')).data, []);
});

keys('are refused with 422 if the request is invalid', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  for (const [body, reason] of [
    [{ scope: 'full' }, 'missing_field'],
    [{ name: 'x', scope: 'all' }, 'unknown_value'],
    [{ name: 'x\u202e', scope: 'full' }, 'invalid_text'],
    [{ name: 'x', scope: 'full', id: 'y' }, 'unknown_field'],
  ] as const) {
    const reply = await owner.send('POST', '/keys', body);
    assert.equal([reply.status, reply.error], [422, 'invalid_request'], reason);
  }
  assert.is((await owner.send('GET', '/audit?limit=1000')).status, 400);
});

keys('appear in the exported audit trail, like all other actions', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  await owner.expect(201, 'POST', '/keys', { name: 'One', scope: 'full' });
  const reply = await owner.send('GET', '/audit/export');
  assert.is(reply.status, 200);
  assert.match(
    String(reply.headers['content-disposition']),
    /^attachment; filename="audit-accountOfAda\.ndjson"$/,
  );
  assert.is(reply.headers['content-type'], 'application/x-ndjson');
  const lines = String(reply.data['text']).trimEnd().split('\n');
  const actions = ['account.set_up', 'session.begin', 'key.create', 'audit.export'];
  assert.equal(
    lines.map((line) => JSON.parse(line)).map(({ action, outcome }) => `${action} ${outcome}`),
    actions.flatMap((action) => [`${action} begun`, `${action} done`]),
  );
});

keys.run();
