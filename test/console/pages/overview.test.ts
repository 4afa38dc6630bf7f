import * as assert from 'uvu/assert';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';

const overview = browserSuite('the overview');

overview('shows the month and the minute as rings and as a table', async (pages) => {
  await using opened = await pages.open('/', await pages.desk.owner());
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

overview('reloads on demand, and leads to the first key', async (pages) => {
  await using opened = await pages.open('/', await pages.desk.owner());
  const { page } = opened;
  const { window_resets_at: _, ...usage } = pages.account.usage;
  pages.account.usage = { ...usage, requests_in_window: 0, cycles_used: 9_999 };
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByRole('img', { name: '9,999 cycles of 10,000 used this month' }).waitFor();
  assert.is(await page.locator('.ring text').first().textContent(), '99 %', 'rounded down');
  await page.getByText('The next request starts a new minute').waitFor();
  await page.getByRole('link', { name: 'Create an API key' }).click();
  await page.getByRole('heading', { name: 'API keys' }).waitFor();
  assert.is(await page.evaluate('document.activeElement.textContent'), 'API keys');
  assert.is(await page.title(), 'API keys · Identity Engine');
  assertQuiet(opened);
});

overview('reports when the console does not answer', async (pages) => {
  await using opened = await pages.open('/', await pages.desk.owner());
  const { page } = opened;
  await page.getByRole('img').nth(1).waitFor();
  await page.route('**/api/usage', (route) => route.abort());
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByText('The console does not answer. Check your connection.').waitFor();
  await page.unroute('**/api/usage');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('img').nth(1).waitFor();
});

overview('is linked from the page for unknown addresses', async (pages) => {
  await using opened = await pages.open('/no/such/page', await pages.desk.owner());
  await opened.page.getByRole('heading', { name: 'Page not found' }).waitFor();
  await opened.page.getByRole('link', { name: 'Go to the overview' }).click();
  await opened.page.getByRole('heading', { name: 'Overview' }).waitFor();
  assertQuiet(opened);
});

overview.run();
