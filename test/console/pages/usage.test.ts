import * as assert from 'uvu/assert';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import type { TestPages } from '#test/console/pages/fakes/pages-fixture';
import { fillSample } from '#test/console/pages/fakes/sample-account';

const usage = browserSuite('the usage page');

const openUsage = async (pages: TestPages) => await pages.open('/usage', await pages.desk.owner());

usage('shows the days of a month as bars and as a table', async (pages) => {
  fillSample(pages.account);
  await using opened = await openUsage(pages);
  const { page } = opened;
  const name = '3,412 cycles by day of the month, at most 800 a day';
  const chart = page.getByRole('img', { name });
  await chart.waitFor();
  assert.is(await chart.locator('rect').count(), 15);
  assert.is(await chart.locator('title').nth(3).textContent(), '2026-01-04: 340 cycles');
  await page.getByText('Show the days as a table').focus();
  await page.keyboard.press('Enter');
  await page.getByRole('row', { name: '2026-01-04 340' }).waitFor();
  assert.is(await page.getByRole('row', { name: '2026-01-01' }).count(), 0, 'nothing was used');
  assertQuiet(opened);
});

usage('shows the cycles of each key, whatever its name', async (pages) => {
  fillSample(pages.account);
  const [month] = pages.account.months;
  const keys = [{ id: 'key_x', name: '<img src=x onerror=alert(1)>', cycles: 3_100 }];
  pages.account.months = [{ ...month, keys }];
  await using opened = await openUsage(pages);
  const { page } = opened;
  await page
    .getByRole('row', { name: /^<img src=x onerror=alert\(1\)> ?key_x 3,100 91 %$/ })
    .waitFor();
  await page.getByRole('row', { name: /^No known key.* 312 9 %$/ }).waitFor();
  assertQuiet(opened);
});

usage('shows another month, and exports the month shown', async (pages) => {
  fillSample(pages.account);
  await using opened = await openUsage(pages);
  const { page } = opened;
  await page.getByLabel('Month', { exact: true }).selectOption('2025-12');
  await page.getByRole('row', { name: /^old worker/ }).waitFor();
  for (const [name, file] of [
    ['Export CSV of December 2025', 'usage-2025-12.csv'],
    ['Export JSON of December 2025', 'usage-2025-12.json'],
    ['CSV', 'usage-all.csv'],
  ] as const) {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name, exact: true }).click(),
    ]);
    assert.is(download.suggestedFilename(), file);
  }
  assertQuiet(opened);
});

usage('shows the forecast of the month, and how it is computed', async (pages) => {
  fillSample(pages.account);
  await using opened = await openUsage(pages);
  const { page } = opened;
  await page.getByText('At this rate about 7,052 cycles by the end of the month (70 %)').waitFor();
  await page.getByText('The forecast is linear').waitFor();
  const forecast = { cycles: 12_000, used_up_at: '2026-01-26T08:00:00.000Z' };
  pages.account.usage = { ...pages.account.usage, forecast };
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByText('quota is used up on 26 Jan 2026, 09:00').waitFor();
  const { forecast: _, ...early } = pages.account.usage;
  pages.account.usage = early;
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByText('A forecast of the month appears a day after its first use.').waitFor();
  assertQuiet(opened);
});

usage('reports that nothing was used, and a failed load', async (pages) => {
  await using opened = await openUsage(pages);
  const { page } = opened;
  await page.getByText('No usage in January 2026').waitFor();
  pages.account.broken.set('GET /api/usage/months', 500);
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByText('The months could not be loaded.').waitFor();
  pages.account.broken.clear();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('No usage in January 2026').waitFor();
});

usage('shows the cycles of the most used instances, whatever their names are', async (pages) => {
  fillSample(pages.account);
  const name = '<img src=x onerror=alert(1)>';
  const [first] = pages.account.instances;
  const instances = [{ id: first?.id, name, cycles: 3_000 }];
  pages.account.byInstance = { ...pages.account.byInstance, instances, other_cycles: 412 };
  await using opened = await openUsage(pages);
  const { page } = opened;
  await page.getByRole('heading', { name: 'Cycles by instance, January 2026 so far' }).waitFor();
  const row = page.getByRole('row', {
    name: /^<img src=x onerror=alert\(1\)> ?inst_\w+ 3,000 88 %$/,
  });
  await row.waitFor();
  await page.getByRole('row', { name: /^Others.* 412 12 %$/ }).waitFor();
  await page.getByText('uses the timestamp of each observation').waitFor();
  for (const format of ['CSV', 'JSON']) {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: `Export ${format} of instances` }).click(),
    ]);
    assert.is(download.suggestedFilename(), `instances.${format.toLowerCase()}`);
  }
  assertQuiet(opened);
  await row.getByRole('link').click();
  await page.waitForURL(`**/instances/${first?.id}`);
});

usage('reports that the list of instances may be incomplete', async (pages) => {
  fillSample(pages.account);
  const some = { instances_total: 12_345, instances_listed: 10_000, is_complete: false };
  const sample = pages.account.byInstance;
  pages.account.byInstance = { ...sample, ...some };
  await using opened = await openUsage(pages);
  const { page } = opened;
  await page.getByText('The table covers the newest 10,000 of 12,345 instances.').waitFor();
  pages.account.byInstance = { ...sample, is_complete: false };
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByText('The time limit was reached').waitFor();
  assertQuiet(opened);
});

usage('reports that no instance was used, and a failed load', async (pages) => {
  await using opened = await openUsage(pages);
  const { page } = opened;
  await page.getByText('No instance has observations in January 2026').waitFor();
  assert.is(await page.getByRole('link', { name: /of instances$/ }).count(), 0, 'no export');
  pages.account.broken.set('GET /api/usage/instances', 503);
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByText('The usage by instance could not be loaded.').waitFor();
  pages.account.broken.clear();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('No instance has observations in January 2026').waitFor();
});

usage('has no links to instances for roles that may not see them', async (pages) => {
  fillSample(pages.account);
  const owner = await pages.desk.owner();
  const payer = await pages.desk.member(owner, 'pay@example.com', 'billing');
  await using opened = await pages.open('/usage', payer);
  const { page } = opened;
  const table = page.getByRole('table', { name: 'Cycles by instance in January 2026' });
  await table.waitFor();
  assert.is(await table.getByRole('row').count(), 8);
  assert.is(await table.getByRole('link').count(), 0);
  assertQuiet(opened);
});

usage('is linked from the overview', async (pages) => {
  await using opened = await pages.open('/', await pages.desk.owner());
  const { page } = opened;
  await page.getByRole('link', { name: 'Usage by day and key' }).click();
  await page.getByRole('heading', { name: 'Usage', exact: true }).waitFor();
  assertQuiet(opened);
});

usage.run();
