import * as assert from 'uvu/assert';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import { secretOf } from '#test/console/pages/fakes/fake-routes';
import type { TestPages, WatchedPage } from '#test/console/pages/fakes/pages-fixture';
import { fillSample } from '#test/console/pages/fakes/sample-account';

/** Script that returns the document and everything that the page stores. */
const KEPT = `JSON.stringify([
  document.documentElement.outerHTML, [...document.querySelectorAll('input, textarea')].map((one) => one.value),
  history.state, { ...localStorage }, { ...sessionStorage }, location.href, document.cookie,
])`;

const keys = browserSuite('the API keys page');

async function openKeys(pages: TestPages): Promise<WatchedPage> {
  const opened = await pages.open('/keys', await pages.desk.owner());
  await opened.page.getByRole('heading', { name: 'API keys' }).waitFor();
  return opened;
}

keys(
  'lists working keys first, with the time, address and client of their last use',
  async (pages) => {
    fillSample(pages.account);
    await using opened = await openKeys(pages);
    const { page } = opened;
    const row = page.getByRole('row', { name: /billing worker/ });
    const text = (await row.innerText()).replaceAll(/\s+/g, ' ');
    assert.match(
      text,
      /svc_sk_…a7Qx .*Full .*15 Jan 2026, 12:58 203\.0\.113\.20 · acme-billing\/3\.1/,
    );
    assert.is(await row.locator('time').first().getAttribute('title'), '2026-01-15 11:58:00 UTC');
    const names = await page.locator('.row-name').allTextContents();
    assert.equal([names[0], names.at(-1)], ['notebook of Ada', 'old worker']);
    const unused = page.getByRole('row', { name: /notebook of Ada/ });
    assert.equal(await unused.locator('.badge').allTextContents(), [
      'active',
      'Never used',
      'No expiry',
    ]);
    assert.is(
      await page
        .getByRole('row', { name: /old worker/ })
        .getByRole('button')
        .count(),
      0,
    );
    assertQuiet(opened);
  },
);

keys('creates a key, shows it once, and then stores it nowhere', async (pages) => {
  await using opened = await openKeys(pages);
  const { page } = opened;
  await page.getByText('There are no keys yet').waitFor();
  await page.getByRole('button', { name: 'Create a key' }).click();
  const dialog = page.getByRole('dialog', { name: 'Create a key' });
  await dialog.getByLabel('Name').fill('worker');
  await dialog.getByLabel('Scope').selectOption('read');
  await dialog.getByLabel('Expires').selectOption('date');
  await dialog.getByLabel('Last day').fill('2026-03-31');
  await dialog.getByLabel('Allowed networks').fill('nonsense');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByText('Must be an address or a network').waitFor();
  await dialog.getByLabel('Allowed networks').fill('192.0.2.0/24\n198.51.100.7');
  await dialog.getByRole('button', { name: 'Create' }).click();
  const shown = page.getByRole('dialog', { name: 'Store this key now' });
  assert.is(await shown.getByLabel('API key').inputValue(), secretOf(1));
  await shown.getByText('The key worker is shown only now.').waitFor();
  await page.keyboard.press('Escape');
  assert.ok(await shown.isVisible(), 'Escape keeps the dialog open');
  await shown.getByRole('button', { name: 'I have stored it' }).click();
  await shown.waitFor({ state: 'detached' });
  await page.getByRole('row', { name: /worker/ }).waitFor();
  assert.not.match(String(await page.evaluate(KEPT)), secretOf(1));
  const { body } = pages.account.sent.findLast(({ route }) => route === 'POST /api/keys') ?? {};
  assert.equal(body, {
    ...{ name: 'worker', scope: 'read', expires_at: '2026-03-31T21:59:59.000Z' },
    networks: ['192.0.2.0/24', '198.51.100.7'],
  });
  assertQuiet(opened, ['422 /api/keys']);
});

keys('leaves no key in the heap after the dialog closes', async (pages) => {
  await using opened = await openKeys(pages);
  const { page } = opened;
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByLabel('Name', { exact: true }).fill('worker');
  await page.keyboard.press('Enter');
  const stored = page.getByRole('button', { name: 'I have stored it' });
  await stored.waitFor();
  assert.ok((await heapOf(page)).includes(secretOf(1)), 'the heap contains the shown key');
  await stored.click();
  await page.getByRole('row', { name: /worker/ }).waitFor();
  assert.not.ok((await heapOf(page)).includes(secretOf(1)));
});

keys('creates a key with the keyboard alone', async (pages) => {
  await using opened = await openKeys(pages);
  const { page } = opened;
  const focused = () =>
    page.evaluate('document.activeElement.textContent || document.activeElement.name');
  await page.keyboard.press('Tab');
  assert.is(await focused(), 'Create a key', 'the heading had the focus');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  assert.is(await focused(), 'name');
  await page.keyboard.type('worker');
  for (let fields = 0; fields < 3; fields += 1) await page.keyboard.press('Tab');
  assert.is(await focused(), 'networks');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  assert.is(await focused(), 'Create');
  await page.keyboard.press('Space');
  const shown = page.getByRole('dialog', { name: 'Store this key now' });
  await shown.waitFor();
  for (let presses = 0; (await focused()) !== 'I have stored it'; presses += 1) {
    assert.ok(presses < 5, 'the button is reached');
    await page.keyboard.press('Tab');
  }
  await page.keyboard.press('Enter');
  await page.getByRole('row', { name: /worker/ }).waitFor();
  assert.is(await focused(), 'Create a key', 'the focus returns to the first button');
  assertQuiet(opened);
});

keys('renames, rotates with a grace period, disables and enables', async (pages) => {
  fillSample(pages.account);
  await using opened = await openKeys(pages);
  const { page } = opened;
  await page.getByRole('button', { name: 'Rename notebook of Ada' }).click();
  await page.getByLabel('Name', { exact: true }).fill('notebook');
  await page.keyboard.press('Enter');
  await page.getByRole('row', { name: /^notebook / }).waitFor();
  await page.getByRole('button', { name: 'Disable notebook' }).click();
  await page.getByRole('button', { name: 'Disable', exact: true }).click();
  await page.getByRole('button', { name: 'Enable notebook' }).click();
  await page.getByRole('button', { name: 'Enable', exact: true }).click();
  await page.getByRole('button', { name: 'Rotate notebook' }).click();
  const graces = await page
    .getByLabel('The old key stops working')
    .locator('option')
    .allTextContents();
  assert.equal(graces, ['Immediately', 'In 1 hour', 'In 24 hours', 'In 7 days']);
  await page.getByLabel('The old key stops working').selectOption('In 7 days');
  await page.getByRole('button', { name: 'Rotate', exact: true }).click();
  assert.is(await page.getByLabel('API key').inputValue(), secretOf(1));
  await page.getByRole('button', { name: 'I have stored it' }).click();
  const bodies = pages.account.sent.filter(({ route }) => !route.startsWith('GET'));
  assert.equal(bodies, [
    { route: 'PATCH /api/keys/:id', body: { name: 'notebook' } },
    { route: 'POST /api/keys/:id/disable', body: {} },
    { route: 'POST /api/keys/:id/enable', body: {} },
    { route: 'POST /api/keys/:id/rotate', body: { grace_seconds: 604_800 } },
  ]);
  assertQuiet(opened);
});

// Report 9: a developer could create a key with rights that the role does not have.
keys('offers only scopes and actions whose rights the person has', async (pages) => {
  fillSample(pages.account);
  const [one] = pages.account.keys;
  assert.ok(one);
  pages.account.keys = [
    { ...one, id: 'key_1', name: 'worker', scope: 'full' },
    { ...one, id: 'key_2', name: 'auditor', scope: 'full audit', status: 'disabled' },
  ];
  const owner = await pages.desk.owner();
  const developer = await pages.desk.member(owner, 'grace@example.com', 'developer');
  await using opened = await pages.open('/keys', developer);
  const { page } = opened;
  const buttonsOf = (name: RegExp) => page.getByRole('row', { name }).getByRole('button');
  await buttonsOf(/worker/)
    .first()
    .waitFor();
  assert.equal(await buttonsOf(/worker/).allTextContents(), [
    ...['Rename', 'Scope', 'Rotate', 'Disable', 'Revoke'],
  ]);
  assert.equal(await buttonsOf(/auditor/).allTextContents(), ['Rename', 'Revoke']);
  await page.getByRole('button', { name: 'Create a key' }).click();
  const scopes = page.getByRole('dialog').getByLabel('Scope').locator('option');
  assert.equal(await scopes.allTextContents(), ['Full', 'Read only']);
  assertQuiet(opened);
});

// Report 9: an owner could not change the rights of an existing key.
keys('changes the scope of a key', async (pages) => {
  fillSample(pages.account);
  await using opened = await openKeys(pages);
  const { page } = opened;
  await page.getByRole('button', { name: 'Scope chat service' }).click();
  const dialog = page.getByRole('dialog', { name: 'Change the scope of the key' });
  assert.is(await dialog.getByLabel('Scope').inputValue(), 'full');
  await dialog.getByLabel('Scope').selectOption('read audit');
  await dialog.getByRole('button', { name: 'Change' }).click();
  const row = page.getByRole('row', { name: /chat service/ });
  await row.getByText('Read only, audit trail').waitFor();
  const { body } = pages.account.sent.findLast(({ route }) => route.startsWith('PUT')) ?? {};
  assert.equal(body, { scope: 'read audit' });
  assertQuiet(opened);
});

// Report 10: the page did not show a key's creator, or that the creator had left.
keys('shows who created a key, and that the creator has left', async (pages) => {
  fillSample(pages.account);
  const created_by = { kind: 'user', id: 'usr_1', name: 'Grace' };
  pages.account.keys = pages.account.keys.map((key) => ({
    ...{ ...key, created_by, hints: ['maker_gone'] },
  }));
  await using opened = await openKeys(pages);
  const text = await opened.page.getByRole('row', { name: /chat service/ }).innerText();
  assert.match(text, /by Grace/);
  assert.match(text, /Its creator left or has fewer rights/);
  assertQuiet(opened);
});

// A page named a key by its masked value, and other pages by its id.
keys('shows masked value and id of each key', async (pages) => {
  fillSample(pages.account);
  await using opened = await openKeys(pages);
  const text = await opened.page.getByRole('row', { name: /chat service/ }).innerText();
  assert.match(text, /svc_sk_…p9Rt\s+key_p9Rt/);
});

keys('revokes only a key whose name was typed', async (pages) => {
  fillSample(pages.account);
  await using opened = await openKeys(pages);
  const { page } = opened;
  await page.getByRole('button', { name: 'Revoke chat service' }).click();
  const revoke = page.getByRole('button', { name: 'Revoke permanently' });
  assert.ok(await revoke.isDisabled());
  await page.getByLabel('Type the name of the key').fill('chat servic');
  assert.ok(await revoke.isDisabled());
  await page.getByLabel('Type the name of the key').fill('chat service');
  await revoke.click();
  await page
    .getByRole('row', { name: /chat service/ })
    .getByText('revoked')
    .waitFor();
  assertQuiet(opened);
});

keys('shows names as text, whatever their content', async (pages) => {
  fillSample(pages.account);
  const name = '<img src=x onerror="document.title=1"><script>alert(1)</script>';
  pages.account.keys = pages.account.keys.map((key) => ({ ...key, name }));
  await using opened = await openKeys(pages);
  const { page } = opened;
  assert.is(await page.locator('.row-name').first().textContent(), name);
  assert.is(await page.locator('main img, main script').count(), 0);
  await page
    .getByRole('button', { name: /^Rotate/ })
    .first()
    .click();
  assert.is(await page.getByRole('dialog').locator('strong').textContent(), name);
  assertQuiet(opened);
});

keys('reports a failed load, and loads again', async (pages) => {
  pages.account.broken.set('GET /api/keys', 500);
  await using opened = await openKeys(pages);
  const { page, complaints } = opened;
  await page.getByText('The keys could not be loaded.').waitFor();
  await page.getByText('The store is away.').waitFor();
  pages.account.broken.clear();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('There are no keys yet').waitFor();
  assert.is(complaints.length, 1, 'the browser logs the status');
});

async function heapOf(page: WatchedPage['page']): Promise<string> {
  const session = await page.context().newCDPSession(page);
  const chunks: string[] = [];
  session.on('HeapProfiler.addHeapSnapshotChunk', ({ chunk }) => void chunks.push(chunk));
  await session.send('HeapProfiler.collectGarbage');
  await session.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
  await session.detach();
  return chunks.join('');
}

keys.run();
