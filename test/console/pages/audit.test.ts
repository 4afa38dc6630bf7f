import { readFileSync } from 'node:fs';
import * as assert from 'uvu/assert';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import type { TestPages, WatchedPage } from '#test/console/pages/fakes/pages-fixture';
import { sampleLines } from '#test/console/pages/fakes/sample-account';

const audit = browserSuite('the audit trail page');

async function openAudit(pages: TestPages, query = ''): Promise<WatchedPage> {
  const opened = await pages.open(`/audit${query}`, await pages.desk.owner());
  await opened.page.locator('.skeleton').waitFor({ state: 'detached' });
  return opened;
}

const rowsOf = ({ page }: WatchedPage) => page.locator('tbody tr:not(.details-row)');

audit('shows lines newest first, and loads older lines until the oldest', async (pages) => {
  pages.account.lines = sampleLines(120);
  await using opened = await openAudit(pages);
  const { page } = opened;
  await rowsOf(opened).nth(49).waitFor();
  for (const count of [100, 120]) {
    await page.getByRole('button', { name: 'Load older lines' }).click();
    await rowsOf(opened)
      .nth(count - 1)
      .waitFor();
  }
  await page.getByText('This is the oldest line.').waitFor();
  const times = await page
    .locator('tbody time')
    .evaluateAll((all) => all.map((one) => one.getAttribute('datetime')));
  assert.equal(times, times.toSorted().reverse());
  assert.is(times.length, 120);
  assertQuiet(opened);
});

audit('filters the lines, and keeps the filters in the address', async (pages) => {
  pages.account.lines = sampleLines(120);
  await using opened = await openAudit(pages);
  const { page } = opened;
  await page.getByLabel('Action').fill('key.');
  await page.getByLabel('Outcome').selectOption('done');
  await page.getByLabel('From').fill('2026-01-15T12:00');
  await page.getByLabel('Until').fill('2026-01-15T12:57');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.waitForURL(/action=key\.&outcome=done/);
  await page.getByText('This is the oldest line.').waitFor();
  const { body } = pages.account.sent.findLast(({ route }) => route === 'GET /api/audit') ?? {};
  assert.equal(
    { ...(body as object) },
    {
      ...{ action: 'key.', outcome: 'done', limit: '50' },
      ...{ from: '2026-01-15T11:00:00.000Z', until: '2026-01-15T11:57:00.000Z' },
    },
  );
  await page.reload();
  await page.getByText('This is the oldest line.').waitFor();
  assert.is(await page.getByLabel('Until').inputValue(), '2026-01-15T12:57');
  await page.getByLabel('Action').fill('nothing.like.it');
  await page.keyboard.press('Enter');
  await page.getByText('No line matches the filters').waitFor();
  await page.goBack();
  await page.getByText('This is the oldest line.').waitFor();
  await page.getByRole('button', { name: 'Clear' }).click();
  await rowsOf(opened).nth(49).waitFor();
  assertQuiet(opened);
});

audit('shows a line’s values before and after', async (pages) => {
  const [line] = sampleLines(1);
  const after = { name: '<b>bold</b>', networks: ['192.0.2.0/24'] };
  pages.account.lines = [{ ...line, before: { name: 'plain' }, after }];
  await using opened = await openAudit(pages);
  const { page } = opened;
  await page.getByRole('button', { name: /^Details of line 1/ }).click();
  const text = await page.locator('.details-row').innerText();
  for (const each of ['req_1000', 'ses_9c1d', 'plain', '<b>bold</b>', '["192.0.2.0/24"]']) {
    assert.ok(text.includes(each), each);
  }
  assertQuiet(opened);
});

audit('downloads all lines', async (pages) => {
  pages.account.lines = sampleLines(3);
  await using opened = await openAudit(pages);
  const [download] = await Promise.all([
    opened.page.waitForEvent('download'),
    opened.page.getByRole('link', { name: 'Export as NDJSON' }).click(),
  ]);
  assert.is(download.suggestedFilename(), 'audit.ndjson');
  assert.is(
    readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\n').length,
    3,
  );
  assertQuiet(opened);
});

audit('reports an empty trail and a failed load', async (pages) => {
  await using opened = await openAudit(pages);
  await opened.page.getByText('The audit trail is empty').waitFor();
  pages.account.broken.set('GET /api/audit', 500);
  await opened.page.reload();
  await opened.page.getByRole('alert').filter({ hasText: 'The store is away.' }).waitFor();
  pages.account.broken.clear();
  await opened.page.getByRole('button', { name: 'Try again' }).click();
  await opened.page.getByText('The audit trail is empty').waitFor();
});

audit.run();
