import { readFileSync } from 'node:fs';
import * as assert from 'uvu/assert';
import type { AuditRow } from '#console/answers';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import type { TestPages, WatchedPage } from '#test/console/pages/fakes/pages-fixture';
import { sampleActions } from '#test/console/pages/fakes/sample-account';

const audit = browserSuite('the audit trail page');

async function openAudit(pages: TestPages, query = ''): Promise<WatchedPage> {
  const opened = await pages.open(`/audit${query}`, await pages.desk.owner());
  await opened.page.locator('.skeleton').waitFor({ state: 'detached' });
  return opened;
}

const rowsOf = ({ page }: WatchedPage) => page.locator('tbody tr:not(.details-row)');

/** One row of the sample with other fields. */
function rowWith(fields: Partial<AuditRow>): AuditRow {
  const [row] = sampleActions(1);
  if (row === undefined) throw new Error('the sample is empty');
  return { ...row, ...fields };
}

audit('shows actions newest first, and loads older actions until the oldest', async (pages) => {
  pages.account.actions = sampleActions(120);
  await using opened = await openAudit(pages);
  const { page } = opened;
  await rowsOf(opened).nth(49).waitFor();
  for (const count of [100, 120]) {
    await page.getByRole('button', { name: 'Load older actions' }).click();
    await rowsOf(opened)
      .nth(count - 1)
      .waitFor();
  }
  const end = page.getByText('This is the oldest action.');
  await end.waitFor();
  assert.is(
    await page.evaluate('document.activeElement.textContent'),
    'This is the oldest action.',
  );
  const times = await page
    .locator('tbody time')
    .evaluateAll((all) => all.map((one) => one.getAttribute('datetime')));
  assert.equal(times, times.toSorted().reverse());
  assert.is(times.length, 120);
  assertQuiet(opened);
});

audit('shows each action as one sentence with outcome and duration', async (pages) => {
  const masked = 'svc_sk_…xecY';
  const key = { id: 'key_d48d', name: 'ci', more: masked };
  const worker = { kind: 'key', ...key };
  const { target: _, ...signedOut } = rowWith({ id: '5', action: 'session.end' });
  pages.account.actions = [
    rowWith({ id: '1', action: 'key.revoke', target: key, duration_ms: 1_240 }),
    rowWith({ id: '2', action: 'key.revoke', target: key, result: 'refused', code: 'not_found' }),
    rowWith({ id: '3', action: 'instance.delete', actor: worker, target: { name: 'Atlas' } }),
    rowWith({
      ...{ id: '4', action: 'key.rename', target: key, before: { name: 'ci' } },
      after: { name: 'ci-2' },
    }),
    signedOut,
    rowWith({ id: '6', action: 'account.plan', actor: { kind: 'operator', name: 'root' } }),
    rowWith({ id: '7', action: 'member.join', target: { id: 'usr_1', name: 'Ada Lovelace' } }),
    rowWith({ id: '8', action: 'later.action', target: { id: 'thing_1' } }),
  ];
  await using opened = await openAudit(pages);
  const sentences = await rowsOf(opened)
    .locator('th > span:first-child')
    .evaluateAll((all) => all.map((one) => one.textContent));
  assert.equal(sentences, [
    'Ada Lovelace revoked the key ci',
    'Ada Lovelace tried to revoke the key ci',
    'The key ci deleted the instance Atlas',
    'Ada Lovelace renamed the key ci to “ci-2”',
    'Ada Lovelace signed out',
    'The operator root changed the plan',
    'Ada Lovelace joined the account',
    'Ada Lovelace did later.action thing_1',
  ]);
  const [revoked, refused] = await rowsOf(opened).allInnerTexts();
  assert.match(revoked ?? '', /svc_sk_…xecY\s+key_d48d/);
  assert.match(revoked ?? '', /done\s+1\.2 s/);
  assert.match(refused ?? '', /refused\s+not found/);
  assertQuiet(opened);
});

audit(
  'filters by name, action, outcome and time, and keeps the filters in the address',
  async (pages) => {
    pages.account.actions = sampleActions(120);
    await using opened = await openAudit(pages);
    const { page } = opened;
    await page.getByLabel('Search').fill('notebook');
    await page.getByLabel('Action').selectOption({ label: 'All: keys' });
    await page.getByLabel('Outcome').selectOption('done');
    await page.getByLabel('From').fill('2026-01-15T12:00');
    await page.getByLabel('Until').fill('2026-01-15T12:57');
    assert.is(pages.account.sent.length, 1, 'a choice alone sends no request');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.waitForURL(/search=notebook&action=key&result=done/);
    await page.getByText('This is the oldest action.').waitFor();
    const { body } = pages.account.sent.findLast(({ route }) => route === 'GET /api/audit') ?? {};
    assert.equal(
      { ...(body as object) },
      {
        ...{ search: 'notebook', action: 'key', result: 'done', limit: '50' },
        ...{ from: '2026-01-15T11:00:00.000Z', until: '2026-01-15T11:57:00.000Z' },
      },
    );
    await page.reload();
    await page.getByText('This is the oldest action.').waitFor();
    assert.is(await page.getByLabel('Until').inputValue(), '2026-01-15T12:57');
    assert.is(await page.getByLabel('Action').inputValue(), 'key');
    await page.getByLabel('Search').fill('nothing like it');
    await page.keyboard.press('Enter');
    await page.getByText('No action matches the filters').waitFor();
    await page.goBack();
    await page.getByText('This is the oldest action.').waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await rowsOf(opened).nth(49).waitFor();
    assertQuiet(opened);
  },
);

// One request reads a bounded part of the trail, so a search used to need many clicks.
audit('continues a search by itself until it finds an action', async (pages) => {
  await using opened = await openAudit(pages);
  const { page } = opened;
  const found = rowWith({ target: { name: 'Atlas' }, action: 'instance.delete' });
  const cursors: (string | null)[] = [];
  await page.route('**/api/audit?*', async (route) => {
    const cursor = new URL(route.request().url()).searchParams.get('cursor');
    cursors.push(cursor);
    const [data, next] = cursor === '2' ? [[found], null] : [[], String(cursors.length)];
    const pagination = { limit: 50, next_cursor: next, reached_at: found.at };
    await route.fulfill({ json: { data, pagination } });
  });
  await page.getByLabel('Search').fill('Atlas');
  await page.keyboard.press('Enter');
  await page.getByText('deleted the instance Atlas').waitFor();
  assert.equal(cursors, [null, '1', '2']);
  assertQuiet(opened);
});

audit('shows an action’s values before and after', async (pages) => {
  const after = { name: '<b>bold</b>', networks: ['192.0.2.0/24'] };
  pages.account.actions = [rowWith({ before: { name: 'plain' }, after })];
  await using opened = await openAudit(pages);
  const { page } = opened;
  await page.getByRole('button', { name: /^Details of key.create/ }).click();
  const text = await page.locator('.details-row').innerText();
  for (const each of ['req_1000', 'ses_9c1d', 'plain', '<b>bold</b>', '["192.0.2.0/24"]']) {
    assert.ok(text.includes(each), each);
  }
  assertQuiet(opened);
});

audit('downloads all lines', async (pages) => {
  pages.account.actions = sampleActions(3);
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
