import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { adminUnderTest } from '#test/limiter/admin/admin-fixture';

const watched = suite('a change through the admin port');

watched('is reported with user, change and outcome, but without keys', async () => {
  await using port = await adminUnderTest();
  const json = { 'content-type': 'application/json', 'x-admin-user': 'grace' };
  const limits = { requests_per_minute: 1, cycles_per_month: 1 };
  const change = async (method: string, path: string, body?: object) =>
    await port.raw(method, path, json, body === undefined ? '' : JSON.stringify(body));
  const requested = { name: 'Zoë', plan: 'enterprise', limits };
  const { data: account } = await change('POST', '/accounts', requested);
  const path = `/accounts/${account.id}`;
  await change('PUT', `${path}/plan`, { plan: 'pro' });
  await change('PUT', `${path}/status`, { status: 'suspended' });
  await change('PUT', `${path}/model`, { model_version: '1.0' });
  await change('PUT', `${path}/retention`, { retention_days: 30 });
  const { data: made } = await change('POST', `${path}/keys`, { scope: 'read' });
  await change('DELETE', `${path}/keys/${made.id}`);
  await change('GET', `${path}/keys`);
  await change('PUT', '/accounts/Nobody000001/plan', { plan: 'gold' });

  const reported = port.changes.map(({ change: what, accountId, keyId, outcome }) => {
    return [what, accountId, keyId, outcome];
  });
  assert.equal(reported, [
    ['account.create', account.id, undefined, 'done'],
    ['account.plan', account.id, undefined, 'done'],
    ['account.status', account.id, undefined, 'done'],
    ['account.model', account.id, undefined, 'done'],
    ['account.retention', account.id, undefined, 'done'],
    ['key.create', account.id, made.id, 'done'],
    ['key.revoke', account.id, made.id, 'done'],
    ['account.plan', 'Nobody000001', undefined, 'invalid_request'],
  ]);
  assert.equal(port.changes[0]?.requested, requested);
  assert.equal(port.changes.at(-1)?.requested, undefined);
  for (const { by } of port.changes) {
    assert.is(by.claimedUser, 'grace');
    assert.match(by.tokenId, /^[0-9a-f]{12}$/);
    assert.match(by.address, /^127\.0\.0\.1:\d+$/);
  }
  assert.not.match(JSON.stringify(port.changes), /svc_sk_|the-token/);
});

watched('is reported without a user name if the name is invalid', async () => {
  await using port = await adminUnderTest();
  const json = { 'content-type': 'application/json' };
  const body = JSON.stringify({ name: 'a', plan: 'free' });
  for (const user of ['', 'two words', 'x'.repeat(65), '{"level":60}']) {
    await port.raw('POST', '/accounts', { ...json, 'x-admin-user': user }, body);
    assert.is(port.changes.at(-1)?.by.claimedUser, undefined, user);
  }
  assert.is(port.changes.length, 4);
});

watched.run();
