import * as assert from 'uvu/assert';
import type { Step } from '#console/answers';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import type { TestPages } from '#test/console/pages/fakes/pages-fixture';

const overview = browserSuite('the overview');

/** Opens the overview with a stopped clock and a known address of the API. */
async function openOverview(pages: TestPages) {
  const opened = await pages.open('/nowhere', await pages.desk.owner());
  const { page } = opened;
  await page.route('**/api/me', async (route) => {
    const answer = await route.fetch();
    const { data } = (await answer.json()) as { data: object };
    const api = { api_url: 'https://api.example.com/v1' };
    await route.fulfill({ json: { data: { ...data, ...api } } });
  });
  await page.clock.install();
  await page.goto(`${pages.origin}/overview`);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  return opened;
}

overview('shows the month and the minute as rings and as a table', async (pages) => {
  await using opened = await pages.open('/overview', await pages.desk.owner());
  const { page } = opened;
  await page.getByRole('img', { name: '3,412 cycles of 10,000 used this month' }).waitFor();
  await page.getByRole('img', { name: '4 requests of 10 used this minute' }).waitFor();
  const cells = await page
    .getByRole('row', { name: /^Cycles a month/ })
    .getByRole('cell')
    .allTextContents();
  assert.equal(cells, ['3,412', '8', '6,580', '10,000']);
  assert.is(await page.locator('time').first().getAttribute('title'), '2026-02-01 00:00:00 UTC');
  assert.is(await page.locator('time').first().textContent(), '1 Feb 2026, 01:00');
  assertQuiet(opened);
});

overview('shows new figures within seconds, without a click', async (pages) => {
  await using opened = await openOverview(pages);
  const { page } = opened;
  await page.getByRole('img', { name: '3,412 cycles of 10,000 used this month' }).waitFor();
  const { window_resets_at: _, ...usage } = pages.account.usage;
  pages.account.usage = { ...usage, requests_in_window: 0, cycles_used: 9_999 };
  pages.account.start = { ...pages.account.start, instances: { count: 7, max: 1_000 } };
  await page.clock.runFor(5_000);
  await page.getByRole('img', { name: '9,999 cycles of 10,000 used this month' }).waitFor();
  assert.is(await page.locator('.ring text').first().textContent(), '99 %', 'rounded down');
  await page.getByText('The next request starts a new minute').waitFor();
  await page.getByText('7 of 1,000 instances').waitFor();
  assertQuiet(opened);
});

overview('sends no request while the tab is hidden', async (pages) => {
  await using opened = await openOverview(pages);
  const { page } = opened;
  await page.getByRole('img').nth(1).waitFor();
  await page.evaluate(`Object.defineProperty(document, 'hidden', { value: true })`);
  const before = pages.account.sent.length;
  await page.clock.runFor(60_000);
  assert.is(pages.account.sent.length, before);
  assertQuiet(opened);
});

overview('ticks the first steps off, and shows the next open step', async (pages) => {
  await using opened = await openOverview(pages);
  const { page } = opened;
  const link = page.getByRole('link', { name: 'Create an API key' });
  await link.waitFor();
  const take = async (...done: Step[]) => {
    const steps = { ...pages.account.start.steps };
    for (const step of done) steps[step] = true;
    pages.account.start = { ...pages.account.start, steps };
    await page.clock.runFor(5_000);
  };
  const next = page.getByRole('status').filter({ hasText: 'Next:' });
  await take('key');
  await next.getByText('Next: make the first call.').waitFor();
  await next.getByText('https://api.example.com/v1/account').waitFor();
  await take('call');
  await next.getByText('Next: create an instance.').waitFor();
  await take('instance');
  await next.getByText('Next: send an observation.').waitFor();
  const done = await page.locator('.steps-list .is-done').allTextContents();
  assert.equal(done, [
    '✓Create an API key, done',
    '✓Make the first call, done',
    '✓Create an instance, done',
  ]);
  await take('observation', 'connection');
  await page.getByText('All first steps are done.').waitFor();
  const steps = { ...pages.account.start.steps, connection: false };
  pages.account.start = { ...pages.account.start, steps };
  await page.clock.runFor(5_000);
  await page.reload();
  await page.getByText('All first steps are done.').waitFor();
  assertQuiet(opened);
});

overview('leads to the first key', async (pages) => {
  await using opened = await pages.open('/overview', await pages.desk.owner());
  const { page } = opened;
  await page.getByRole('link', { name: 'Create an API key' }).click();
  await page.getByRole('heading', { name: 'API keys' }).waitFor();
  assert.is(await page.evaluate('document.activeElement.textContent'), 'API keys');
  assert.is(await page.title(), 'API keys · Identity Engine');
  assertQuiet(opened);
});

overview('says how to set the address of the API if the address is unknown', async (pages) => {
  await using opened = await pages.open('/overview', await pages.desk.owner());
  const card = opened.page.getByRole('region', { name: 'API', exact: true });
  await card.getByText('https://YOUR-HOST/v1').waitFor();
  await card.getByText(/sets the address with SERVICE_API_URL\./).waitFor();
  assert.is(await card.getByRole('button').count(), 0, 'a placeholder cannot be copied');
});

overview('keeps the last figures and reports when the console does not answer', async (pages) => {
  await using opened = await openOverview(pages);
  const { page } = opened;
  await page.getByRole('img').nth(1).waitFor();
  await page.route('**/api/usage', (route) => route.abort());
  await page.clock.runFor(5_000);
  await page.getByText('The console does not answer. Check your connection.').waitFor();
  assert.is(await page.getByRole('img').count(), 2, 'the rings stay');
  await page.unroute('**/api/usage');
  await page.clock.runFor(5_000);
  await page.getByText('The console does not answer.').waitFor({ state: 'detached' });
});

overview('is linked from the page for unknown addresses', async (pages) => {
  await using opened = await pages.open('/no/such/page', await pages.desk.owner());
  await opened.page.getByRole('heading', { name: 'Page not found' }).waitFor();
  await opened.page.getByRole('link', { name: 'Go to the overview' }).click();
  await opened.page.getByRole('heading', { name: 'Overview' }).waitFor();
  assertQuiet(opened);
});

overview.run();
