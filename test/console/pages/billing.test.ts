import * as assert from 'uvu/assert';
import { ROLES } from '#accounts/people';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import type { TestPages, WatchedPage } from '#test/console/pages/fakes/pages-fixture';
import { fillSample } from '#test/console/pages/fakes/sample-account';

const billing = browserSuite('the billing page');

const openBilling = async (pages: TestPages, query = '') =>
  await pages.open(`/billing${query}`, await pages.desk.owner());

/** Answers the requests of the browser to the provider. */
async function standIn({ page }: WatchedPage): Promise<void> {
  await page.route('http://pay.example/**', (route) =>
    route.fulfill({ contentType: 'text/html', body: '<title>pay</title><h1>Pay here</h1>' }),
  );
}

billing('opens the checkout for a plan', async (pages) => {
  pages.account.billing = { ...pages.account.billing, provider: 'stripe', may_subscribe: true };
  await using opened = await openBilling(pages);
  const { page } = opened;
  await standIn(opened);
  await page.getByText('This account has no subscription yet.').waitFor();
  await page.getByRole('row', { name: /^free 10 10,000 1,000 current plan$/ }).waitFor();
  await page.getByRole('button', { name: 'Buy pro' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Pay here' }).waitFor();
  const sent = pages.account.sent.find(({ route }) => route === 'POST /api/billing/checkout');
  assert.equal(sent?.body, { plan: 'pro' });
  assert.equal(opened.complaints, ['asked http://pay.example/checkout']);
});

billing('shows the result of the checkout when the browser returns', async (pages) => {
  await using opened = await openBilling(pages, '?checkout=done');
  await opened.page.getByRole('status').filter({ hasText: 'back from the checkout' }).waitFor();
  await opened.page.goto(`${pages.origin}/billing?checkout=cancelled`);
  await opened.page.getByText('without a purchase').waitFor();
  assertQuiet(opened);
});

billing(
  'shows how long a plan is kept after a failed payment, and opens the portal',
  async (pages) => {
    fillSample(pages.account);
    await using opened = await openBilling(pages);
    const { page } = opened;
    await standIn(opened);
    const notice = page.getByRole('alert');
    await notice.filter({ hasText: 'failed on 13 Jan 2026, 10:30' }).waitFor();
    await notice.filter({ hasText: 'kept until 20 Jan 2026, 10:30' }).waitFor();
    await page.getByText('on 20 Jan 2026, 10:30, unless the payment is made.').waitFor();
    assert.is(
      await page.getByRole('button', { name: /^Buy/ }).count(),
      0,
      'the plan is changed in the portal',
    );
    await page.getByRole('button', { name: 'Manage at the provider' }).click();
    await page.getByRole('heading', { name: 'Pay here' }).waitFor();
    assert.equal(opened.complaints, ['asked http://pay.example/portal']);
  },
);

billing('shows when a plan renews, or ends', async (pages) => {
  const subscription = {
    ...{ plan: 'pro', status: 'active', period_ends_at: '2026-02-10T09:30:00.000Z' },
  };
  const bought = { ...pages.account.billing, provider: 'stripe', plan: 'pro', may_manage: true };
  pages.account.billing = { ...bought, subscription };
  await using opened = await openBilling(pages);
  const { page } = opened;
  await page.getByText('The subscription to pro renews on 10 Feb 2026, 10:30.').waitFor();
  const ends = { ...subscription, ends_at: '2026-02-10T09:30:00.000Z' };
  pages.account.billing = { ...bought, subscription: ends };
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByText('The subscription to pro is cancelled and ends on 10 Feb 2026').waitFor();
  assertQuiet(opened);
});

billing('explains the set-up to an operator if no provider is configured', async (pages) => {
  await using opened = await openBilling(pages);
  const { page } = opened;
  await page.getByText('Plans cannot be bought yet').waitFor();
  await page.getByText('SERVICE_BILLING_PROVIDER').waitFor();
  assert.is(await page.getByRole('button', { name: /^Buy/ }).count(), 0);
  assertQuiet(opened);
});

billing('shows the error if the provider is unreachable', async (pages) => {
  pages.account.billing = { ...pages.account.billing, provider: 'stripe', may_subscribe: true };
  pages.account.broken.set('POST /api/billing/checkout', 503);
  await using opened = await openBilling(pages);
  await opened.page.getByRole('button', { name: 'Buy indie' }).click();
  await opened.page.getByRole('alert').filter({ hasText: 'The store is away.' }).waitFor();
});

for (const role of ROLES) {
  const isAllowed = role === 'owner' || role === 'billing';
  billing(
    `is ${isAllowed ? 'usable by the role' : 'hidden from the role'} ${role}`,
    async (pages) => {
      pages.account.billing = { ...pages.account.billing, provider: 'stripe', may_subscribe: true };
      const owner = await pages.desk.owner();
      const member =
        role === 'owner' ? owner : await pages.desk.member(owner, 'vera@example.com', role);
      await using opened = await pages.open('/billing', member);
      const { page } = opened;
      const link = page.getByRole('link', { name: 'Billing' });
      if (isAllowed) {
        await standIn(opened);
        await link.waitFor();
        await page.getByRole('button', { name: 'Buy indie' }).click();
        await page.getByRole('heading', { name: 'Pay here' }).waitFor();
        assert.equal(opened.complaints, ['asked http://pay.example/checkout']);
      } else {
        await page.getByRole('heading', { name: 'Your role does not allow this page' }).waitFor();
        assert.is(await link.count(), 0);
        assert.is(await page.getByRole('button', { name: /^Buy/ }).count(), 0);
        const asked = pages.account.sent.filter(({ route }) => route.includes('/api/billing'));
        assert.equal(asked, [], 'the page requests no billing data');
        assertQuiet(opened);
      }
    },
  );
}

billing.run();
