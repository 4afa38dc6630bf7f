import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { bought, keyless, LOCAL_BILLING } from '#test/support/calls/billing-scene';
import { assertRefused, openScene } from '#test/support/calls/scene';

const scene = await openScene(LOCAL_BILLING);
const { newCaller, close } = scene;

const PATHS = { success_url: 'https://app.example/done', cancel_url: 'https://app.example/' };
const PRO = { json: { plan: 'pro', ...PATHS } };

const buying = suite('the checkout page for a plan');

buying('is the provider’s page for the account of the API key', async () => {
  const caller = await newCaller({ plan: 'free' });
  const { status, body } = await caller.send('POST', '/billing/checkout', PRO);
  assert.is(status, 200);
  const url = `http://billing.invalid/checkout?account=${caller.accountId}&plan=pro`;
  assert.equal(body, { data: { url } });
  assert.is((await caller.send('GET', '/account')).body.data.plan.name, 'free');
});

buying('is recorded in the audit trail, once as begun and once as done', async () => {
  const caller = await newCaller({ plan: 'free' });
  const headers = { 'x-request-id': 'my-purchase-1' };
  await caller.send('POST', '/billing/checkout', { ...PRO, headers });
  const { data: lines } = (await caller.send('GET', '/audit?action=billing')).body;
  const { data: account } = (await caller.send('GET', '/account')).body;
  assert.is(lines.length, 2);
  for (const { actor, address, action, request_id } of lines) {
    assert.equal(actor, { kind: 'key', id: account.key.id });
    assert.equal([address, action, request_id], ['127.0.0.1', 'billing.checkout', 'my-purchase-1']);
  }
  assert.equal([lines[0].outcome, lines[1].outcome], ['done', 'begun']);
  assert.equal(lines[0].after, { plan: 'pro' });
  assert.not.match(JSON.stringify(lines), /http/);
});

// Report 9: a key that could change instances could read the audit trail and buy plans.
buying('is given only to keys with the scope billing', async () => {
  for (const scope of ['read', 'full', 'full audit'] as const) {
    const caller = await newCaller({ plan: 'free', scope });
    for (const [path, request] of [
      ['/billing/checkout', PRO],
      ['/billing/portal', { json: { return_url: 'https://app.example/' } }],
    ] as const) {
      const refused = await caller.send('POST', path, request);
      assertRefused(refused, 403, 'forbidden', { reason: 'missing_scope' });
    }
  }
  const buyer = await newCaller({ plan: 'free', scope: 'billing' });
  assert.is((await buyer.send('POST', '/billing/checkout', PRO)).status, 200);
  const unknown = await keyless(scene).send('POST', '/billing/checkout', PRO);
  assertRefused(unknown, 401, 'unauthorized');
});

buying('is given only for plans that can be bought and for safe return URLs', async () => {
  const caller = await newCaller({ plan: 'free' });
  const ask = (json: unknown) => caller.send('POST', '/billing/checkout', { json });
  for (const plan of ['free', 'enterprise', 'Pro', '']) {
    assertRefused(await ask({ plan, ...PATHS }), 422, 'invalid_plan');
  }
  for (const success_url of ['http://app.example/', 'javascript:alert(1)', '', '//x']) {
    const details = { reason: 'invalid_text', field: 'success_url' };
    assertRefused(await ask({ ...PRO.json, success_url }), 422, 'invalid_request', details);
  }
  const { success_url: _, ...less } = PRO.json;
  const details = { reason: 'missing_field', field: 'success_url' };
  assertRefused(await ask(less), 422, 'invalid_request', details);
});

buying('is refused to an account with a subscription or an agreed plan', async () => {
  const agreed = await (await newCaller()).send('POST', '/billing/checkout', PRO);
  assertRefused(agreed, 409, 'conflict');
  const caller = await newCaller({ plan: 'free' });
  const { body, signature } = bought(caller.accountId);
  assert.is((await keyless(scene).notify(body, signature)).status, 200);
  const twice = await caller.send('POST', '/billing/checkout', PRO);
  assertRefused(twice, 409, 'conflict', { reason: 'already_exists' });
});

buying.after(close);

buying.run();
