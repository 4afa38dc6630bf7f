import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { limitsOf } from '#accounts/plan';
import { type LocalEvent, localProvider } from '#billing/local-provider';
import { unchanging } from '#stdlib/files';
import { memoryAccountStore } from '#storage/memory/accounts';
import { DAY_MS } from '#test/billing/billing-events';
import { eventAt } from '#test/billing/desk-fixture';
import { billingOf } from '#test/console/billing-fixture';
import { ACCOUNT_ID, OTHER_ACCOUNT_ID, openConsole } from '#test/console/console-fixture';
import { ManualClock } from '#test/support/manual-clock';
import { memoryTrail } from '#test/support/memory-trail';

type Shown = Record<string, unknown>;

/**
 * A console that sells plans through the local provider. `notify` sends a provider notification.
 */
async function openShop() {
  const clock = new ManualClock();
  const accounts = memoryAccountStore(clock);
  const limits = limitsOf({ plan: 'free' });
  for (const id of [ACCOUNT_ID, OTHER_ACCOUNT_ID]) {
    const account = { id, name: id, plan: 'free', status: 'active', limits } as const;
    await accounts.create({ ...account, createdAtMs: 0 });
  }
  const trail = memoryTrail(clock);
  const provider = localProvider(unchanging(['whsec_of_this_test']));
  const { desk: billing, limiter } = billingOf({ accounts, clock, trail, provider });
  const desk = await openConsole({}, { accounts, clock, trail, limiter });
  const startMs = clock.wallMs();
  return {
    ...{ desk, clock, trail, startMs },
    notify: async (atMs: number, change: Partial<LocalEvent> = {}) => {
      const event = eventAt(atMs, { accountId: ACCOUNT_ID, ...change });
      const { body, signature } = provider.notificationFor(event, clock.wallMs());
      await billing.notified(new TextEncoder().encode(body), signature);
    },
  };
}

const plan = suite('the plan page of the console');

plan('shows the account’s plan and the plans for sale', async () => {
  const { desk } = await openShop();
  await using _closing = desk;
  const owner = await desk.owner();
  const { data } = await owner.expect(200, 'GET', '/billing');
  const { plans, ...standing } = data;
  assert.equal(standing, {
    ...{ provider: 'local', plan: 'free', may_subscribe: true, may_manage: false },
  });
  assert.equal((plans as Shown[])[1], {
    ...{ plan: 'indie', requests_per_minute: 60, cycles_per_month: 100_000, instances: 10_000 },
  });
});

// Report 12: console routes outside the instance API had no rate limit: 150 checkouts a second.
plan('calls the provider at most ten times a minute for one account', async () => {
  const { desk, clock } = await openShop();
  await using _closing = desk;
  const owner = await desk.owner();
  const payer = await desk.member(owner, 'bill@example.com', 'billing');
  for (let at = 0; at < 10; at += 1) {
    await (at % 2 ? owner : payer).expect(200, 'POST', '/billing/checkout', { plan: 'pro' });
  }
  for (const who of [owner, payer]) {
    const refused = await who.send('POST', '/billing/checkout', { plan: 'pro' });
    assert.equal([refused.status, refused.error], [429, 'rate_limited']);
    assert.is(refused.headers['retry-after'], '60');
  }
  assert.is((await owner.send('GET', '/audit/export')).status, 429, 'exports are counted too');
  await owner.expect(200, 'GET', '/billing');
  clock.advance(60_000);
  await owner.expect(200, 'POST', '/billing/checkout', { plan: 'pro' });
});

plan('shows a plan that the provider has confirmed, and then links to the portal', async () => {
  const { desk, notify, startMs } = await openShop();
  await using _closing = desk;
  const owner = await desk.owner();
  await notify(startMs);
  const { data } = await owner.expect(200, 'GET', '/billing');
  assert.equal([data['plan'], data['may_subscribe'], data['may_manage']], ['pro', false, true]);
  assert.equal(data['subscription'], {
    ...{ plan: 'pro', status: 'active' },
    period_ends_at: new Date(startMs + 30 * DAY_MS).toISOString(),
  });
  const reply = await owner.send('POST', '/billing/checkout', { plan: 'indie' });
  assert.equal([reply.status, reply.reason], [409, 'already_exists']);
});

plan('shows when the plan ends, and how long it is kept after a failed payment', async () => {
  const { desk, notify, startMs } = await openShop();
  await using _closing = desk;
  const owner = await desk.owner();
  await notify(startMs, { cancelsAtPeriodEnd: true });
  const atMs = startMs + 30 * DAY_MS;
  const ending = (await owner.expect(200, 'GET', '/billing')).data;
  assert.is((ending['subscription'] as Shown)['ends_at'], new Date(atMs).toISOString());
  assert.equal(ending['next_plan'], { plan: 'free', at: new Date(atMs).toISOString() });
  await notify(startMs + 1_000, { status: 'past_due' });
  const failing = (await owner.expect(200, 'GET', '/billing')).data;
  const subscription = failing['subscription'] as Shown;
  assert.is(subscription['status'], 'overdue');
  assert.is(subscription['payment_failed_at'], new Date(startMs + 1_000).toISOString());
  // The paid end is later than the end of the grace period.
  const keptUntil = new Date(atMs).toISOString();
  assert.is(subscription['kept_until'], keptUntil);
  assert.equal(failing['next_plan'], { plan: 'free', at: keptUntil });
});

const pages = suite('the provider’s pages');

pages('are opened by a link, and each request for a link writes two audit lines', async () => {
  const { desk, notify, trail, startMs } = await openShop();
  await using _closing = desk;
  const owner = await desk.owner();
  const { data } = await owner.expect(200, 'POST', '/billing/checkout', { plan: 'pro' });
  assert.is(data['url'], `http://billing.invalid/checkout?account=${ACCOUNT_ID}&plan=pro`);
  await notify(startMs);
  const portal = (await owner.expect(200, 'POST', '/billing/portal', {})).data;
  assert.is(portal['url'], `http://billing.invalid/portal?customer=cus_${ACCOUNT_ID}`);
  const { lines } = await trail.page(ACCOUNT_ID, { limit: 10, action: 'billing' });
  assert.equal(
    lines.map(({ action, outcome, actor }) => [action, outcome, actor.kind]),
    [
      ['billing.portal', 'done', 'user'],
      ['billing.portal', 'begun', 'user'],
      ['billing.checkout', 'done', 'user'],
      ['billing.checkout', 'begun', 'user'],
    ],
  );
  assert.match(String(lines[0]?.actor.session), /^\S+$/);
});

pages('are refused for plans that are not sold, or were never bought', async () => {
  const { desk } = await openShop();
  await using _closing = desk;
  const owner = await desk.owner();
  for (const [path, body, status, error] of [
    ['checkout', { plan: 'gold' }, 422, 'invalid_plan'],
    ['checkout', { plan: 'enterprise' }, 422, 'invalid_plan'],
    ['checkout', {}, 422, 'invalid_request'],
    ['checkout', { plan: 'pro', success_url: 'https://evil.example' }, 422, 'invalid_request'],
    ['portal', {}, 404, 'not_found'],
    ['portal', { account_id: OTHER_ACCOUNT_ID }, 422, 'invalid_request'],
  ] as const) {
    const reply = await owner.send('POST', `/billing/${path}`, body);
    assert.equal([reply.status, reply.error], [status, error], JSON.stringify(body));
  }
});

pages('are for the roles owner and billing only, each for their own account', async () => {
  const { desk, notify, trail, startMs } = await openShop();
  await using _closing = desk;
  const owner = await desk.owner();
  await notify(startMs);
  const asked = async (as: typeof owner) => [
    (await as.send('GET', '/billing')).status,
    (await as.send('POST', '/billing/checkout', { plan: 'pro' })).status,
    (await as.send('POST', '/billing/portal', {})).status,
  ];
  for (const role of ['developer', 'viewer']) {
    const member = await desk.member(owner, `${role}@example.com`, role);
    assert.equal(await asked(member), [403, 403, 403], role);
  }
  assert.equal(await asked(desk.browser()), [401, 401, 401]);
  assert.equal(await asked(await desk.member(owner, 'b@example.com', 'billing')), [200, 409, 200]);
  const stranger = await desk.owner('bob@example.com', OTHER_ACCOUNT_ID);
  assert.equal(await asked(stranger), [200, 200, 404], 'no purchase of the first account');
  const { lines } = await trail.page(OTHER_ACCOUNT_ID, { limit: 10, action: 'billing' });
  assert.is(lines.length, 4);
});

pages('cannot be requested by another site', async () => {
  const { desk, trail } = await openShop();
  await using _closing = desk;
  const owner = await desk.owner();
  const evil = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  const reply = await owner.send('POST', '/billing/checkout', { plan: 'pro' }, evil);
  assert.equal([reply.status, reply.reason], [403, 'cross_site_request']);
  assert.equal((await trail.page(ACCOUNT_ID, { limit: 10, action: 'billing' })).lines, []);
});

pages('do not exist without a provider', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const { data } = await owner.expect(200, 'GET', '/billing');
  assert.equal([data['provider'], data['may_subscribe']], [undefined, false]);
  const reply = await owner.send('POST', '/billing/checkout', { plan: 'pro' });
  assert.equal([reply.status, reply.error], [500, 'billing_provider_not_configured']);
});

for (const part of [plan, pages]) part.run();
