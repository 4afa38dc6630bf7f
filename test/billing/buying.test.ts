import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ACCOUNT_ID } from '#test/billing/billing-events';
import { deskUnderTest, eventAt } from '#test/billing/desk-fixture';
import { faultIn } from '#test/support/settled';

const URLS = { successUrl: 'https://shop.example/done', cancelUrl: 'https://shop.example/no' };

const buying = suite('the billing desk');

buying('opens a checkout page for a plan, unless the account has a subscription', async () => {
  const scene = await deskUnderTest();
  const { url } = await scene.desk.checkout(ACCOUNT_ID, { plan: 'pro', ...URLS });
  assert.match(url, new RegExp(`account=${ACCOUNT_ID}&plan=pro$`));
  await scene.notify(eventAt(scene.startMs));
  const refused = await faultIn(scene.desk.checkout(ACCOUNT_ID, { plan: 'indie', ...URLS }));
  assert.equal([refused.code, refused.reason], ['conflict', 'already_exists']);
  await scene.notify(eventAt(scene.startMs + 1_000, { status: 'canceled' }));
  await scene.desk.checkout(ACCOUNT_ID, { plan: 'indie', ...URLS });
});

buying('sells only indie and pro', async () => {
  const { desk } = await deskUnderTest();
  for (const plan of ['free', 'enterprise', 'gold', '', 'PRO', 'toString']) {
    const refused = await faultIn(desk.checkout(ACCOUNT_ID, { plan, ...URLS }));
    assert.equal([refused.code, refused.httpStatus], ['invalid_plan', 422], plan);
  }
});

buying('refuses sales to unknown accounts and accounts with an agreed plan', async () => {
  const { desk, accounts } = await deskUnderTest();
  const unknown = await faultIn(desk.checkout('An0ther00001', { plan: 'pro', ...URLS }));
  assert.is(unknown.code, 'not_found');
  const limits = { requestsPerMinute: 1, cyclesPerMonth: 2, instances: 3 };
  await accounts.setPlan(ACCOUNT_ID, { plan: 'enterprise', limits });
  const agreed = await faultIn(desk.checkout(ACCOUNT_ID, { plan: 'pro', ...URLS }));
  assert.is(agreed.code, 'conflict');
});

buying('opens a portal page for accounts that have bought a plan', async () => {
  const scene = await deskUnderTest();
  const request = { returnUrl: 'https://shop.example/account' };
  assert.is((await faultIn(scene.desk.portal(ACCOUNT_ID, request))).code, 'not_found');
  await scene.notify(eventAt(scene.startMs));
  const { url } = await scene.desk.portal(ACCOUNT_ID, request);
  assert.match(url, new RegExp(`customer=cus_${ACCOUNT_ID}$`));
});

buying('refuses unsafe return URLs', async () => {
  const scene = await deskUnderTest();
  await scene.notify(eventAt(scene.startMs));
  for (const url of [
    'http://shop.example/',
    'http://127.0.0.1.shop.example/',
    'javascript:alert(1)',
    'data:text/html,x',
    'ftp://shop.example/',
    '/relative',
    '//shop.example/',
    'https://user:password@shop.example/',
    'https://user@shop.example/',
    `https://shop.example/${'x'.repeat(2_048)}`,
    '',
  ]) {
    const portal = await faultIn(scene.desk.portal(ACCOUNT_ID, { returnUrl: url }));
    assert.equal([portal.code, portal.field], ['invalid_request', 'return_url'], url);
    for (const [field, name] of [
      ['success_url', 'successUrl'],
      ['cancel_url', 'cancelUrl'],
    ] as const) {
      const request = { plan: 'pro', ...URLS, [name]: url };
      assert.is((await faultIn(scene.desk.checkout(ACCOUNT_ID, request))).field, field);
    }
  }
  for (const returnUrl of ['http://localhost:8002/', 'http://127.0.0.1/', 'http://[::1]:80/']) {
    await scene.desk.portal(ACCOUNT_ID, { returnUrl });
  }
});

buying('refuses every call without a provider', async () => {
  const { desk } = await deskUnderTest({ provider: undefined });
  for (const call of [
    desk.checkout(ACCOUNT_ID, { plan: 'gold', ...URLS }),
    desk.portal(ACCOUNT_ID, { returnUrl: 'x' }),
    desk.notified(new Uint8Array(), undefined),
  ]) {
    const refused = await faultIn(call);
    assert.equal([refused.code, refused.httpStatus], ['billing_provider_not_configured', 500]);
  }
});

buying.run();
