import * as assert from 'uvu/assert';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import { fakeInstance, fakeInstances } from '#test/console/pages/fakes/fake-instances';
import type { TestPages, WatchedPage } from '#test/console/pages/fakes/pages-fixture';

const list = browserSuite('the instance list');

async function openList(pages: TestPages, query = ''): Promise<WatchedPage> {
  const opened = await pages.open(`/instances${query}`, await pages.desk.owner());
  await opened.page.getByRole('heading', { name: 'Instances' }).waitFor();
  return opened;
}

const namesOn = ({ page }: WatchedPage) => page.locator('.row-name').allTextContents();

const asked = ({ account }: TestPages) =>
  account.sent
    .filter(({ route }) => route === 'GET /api/instances')
    .map(({ body }) => ({ ...(body as Record<string, string>) }));

list('shows new instances first, with id, cycle, energy, description and time', async (pages) => {
  const observed = [{ mode: 2, signal: 0.7, confidence: 1 }];
  pages.account.instances = [
    fakeInstance(1, { name: 'Ada', description: 'Writes release notes', observed }),
    fakeInstance(2, { name: 'Bob', energy: 0.55 }),
  ];
  await using opened = await openList(pages);
  const { page } = opened;
  const row = page.getByRole('row', { name: /Ada/ });
  const text = (await row.innerText()).replaceAll(/\s+/g, ' ');
  assert.match(
    text,
    /Ada inst_0000000000000001 Copy 1 7\d(\.\d)? % Writes release notes 10 Jan 2026, 02:00/,
  );
  assert.match(await page.getByRole('row', { name: /Bob/ }).innerText(), /\b0\s+55 %\s+None/);
  assert.equal(await namesOn(opened), ['Bob', 'Ada']);
  const link = page.getByRole('link', { name: 'Ada' });
  assert.is(await link.getAttribute('href'), '/instances/inst_0000000000000001');
  await page.getByText('1 to 2 of 2 instances').waitFor();
  assert.is(await page.locator('nav [aria-current]').textContent(), 'Instances');
  assertQuiet(opened);
});

list('copies an id', async (pages) => {
  pages.account.instances = fakeInstances(1);
  const options = { permissions: ['clipboard-read', 'clipboard-write'] };
  await using opened = await pages.open('/instances', await pages.desk.owner(), options);
  const { page } = opened;
  await page.getByRole('button', { name: 'Copy the id of Instance 1' }).click();
  await page.getByRole('button', { name: 'Copied the id of Instance 1' }).waitFor();
  assert.is(await page.evaluate('navigator.clipboard.readText()'), 'inst_0000000000000001');
  assertQuiet(opened);
});

list('searches while the user types, and keeps the search in the address', async (pages) => {
  pages.account.instances = [...fakeInstances(30), fakeInstance(31, { name: 'Grace Hopper' })];
  await using opened = await openList(pages, '?offset=20');
  const { page } = opened;
  await page.getByText('21 to 31 of 31 instances').waitFor();
  await page.getByLabel('Search').focus();
  // Timers of the page run in order, however busy the machine is.
  await page.evaluate(`(async () => {
    for (const text of ['H', 'HO', 'HOP', 'HOPPER']) {
      document.activeElement.value = text;
      document.activeElement.dispatchEvent(new Event('input', { bubbles: true }));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })()`);
  await page.getByText('1 to 1 of 1 instances').waitFor();
  assert.equal(await namesOn(opened), ['Grace Hopper']);
  assert.is(new URL(page.url()).search, '?search=HOPPER');
  assert.equal(
    asked(pages).map(({ search }) => search),
    [undefined, 'HOPPER'],
    'no request for each letter',
  );
  assert.is(
    await page.evaluate('document.activeElement.id'),
    'search',
    'the field keeps the focus',
  );
  await page.reload();
  await page.getByText('1 to 1 of 1 instances').waitFor();
  assert.is(await page.getByLabel('Search').inputValue(), 'HOPPER');
  await page.getByLabel('Search').fill('inst_0000000000000003');
  await page.getByRole('link', { name: 'Instance 3' }).waitFor();
  await page.getByLabel('Search').fill('nothing <i>like</i> it');
  await page.getByText('No instance matches “nothing <i>like</i> it”').waitFor();
  await page.getByRole('link', { name: 'Show all instances' }).click();
  await page.getByText('1 to 20 of 31 instances').waitFor();
  assert.is(await page.getByLabel('Search').inputValue(), '');
  assertQuiet(opened);
});

list('is sorted and paged, and the back button works', async (pages) => {
  pages.account.instances = fakeInstances(130);
  await using opened = await openList(pages);
  const { page } = opened;
  await page.getByRole('link', { name: 'Next' }).click();
  await page.getByText('21 to 40 of 130 instances').waitFor();
  await page.getByLabel('Rows a page').selectOption('100');
  await page.getByText('1 to 100 of 130 instances').waitFor();
  await page.getByRole('link', { name: 'Next' }).click();
  await page.getByText('101 to 130 of 130 instances').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Next' }).isDisabled());
  await page.getByLabel('Order').selectOption('Name, A to Z');
  await page.getByText('1 to 100 of 130 instances').waitFor();
  assert.equal((await namesOn(opened)).slice(0, 3), ['Instance 1', 'Instance 10', 'Instance 100']);
  assert.is(new URL(page.url()).search, '?sort=name&order=asc&limit=100');
  await page.goBack();
  await page.getByText('101 to 130 of 130 instances').waitFor();
  assert.is(await page.getByLabel('Order').inputValue(), 'created_at desc');
  assert.equal(asked(pages).at(-1), {
    ...{ sort: 'created_at', order: 'desc', limit: '100', offset: '100' },
  });
  assertQuiet(opened);
});

list('explains what to do if the list or its page is empty', async (pages) => {
  await using opened = await openList(pages);
  const { page } = opened;
  await page.getByText('There are no instances yet').waitFor();
  pages.account.instances = fakeInstances(3);
  await page.goto(`${pages.origin}/instances?offset=40`);
  await page.getByText('This page of the list is empty').waitFor();
  await page.getByRole('link', { name: 'Go to its first page' }).click();
  await page.getByText('1 to 3 of 3 instances').waitFor();
  assertQuiet(opened);
});

list('shows why loading failed, and when to try again', async (pages) => {
  pages.account.broken.set('GET /api/instances', {
    ...{ status: 429, headers: { 'retry-after': '40' } },
    body: { error: 'rate_limited', message: 'too many requests this minute', retry_after: 40 },
  });
  await using opened = await openList(pages);
  const { page } = opened;
  const alert = page.getByRole('alert').filter({ hasText: 'could not be loaded' });
  const text = await alert.innerText();
  assert.match(text, /Too many requests this minute\. Try again in 40 seconds\./);
  pages.account.broken.clear();
  pages.account.instances = fakeInstances(1);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('link', { name: 'Instance 1' }).waitFor();
  assertQuiet(opened, ['429 /api/instances?sort=created_at&order=desc&limit=20&offset=0']);
});

list('leads to the comparison of two instances selected on different pages', async (pages) => {
  pages.account.instances = fakeInstances(25);
  await using opened = await openList(pages);
  const { page } = opened;
  await page.getByRole('checkbox', { name: 'Select Instance 25 to compare' }).check();
  await page.getByText('Instance 25 selected. Select one more to compare.').waitFor();
  await page.getByRole('link', { name: 'Next' }).click();
  await page.getByRole('checkbox', { name: 'Select Instance 2 to compare' }).check();
  assert.ok(
    await page.getByRole('checkbox', { name: 'Select Instance 3 to compare' }).isDisabled(),
  );
  await page.getByRole('link', { name: 'Compare' }).click();
  await page.getByRole('heading', { name: 'Compare two instances' }).waitFor();
  const { search } = new URL(page.url());
  assert.is(search, '?a=inst_0000000000000019&b=inst_0000000000000002');
  await page.getByRole('heading', { name: 'State and style' }).waitFor();
  assertQuiet(opened);
});

list('shows names and descriptions as plain text', async (pages) => {
  const name = '<img src=x onerror=alert(1)>';
  const description = '"><script>document.title="taken"</script>';
  pages.account.instances = [fakeInstance(1, { name, description }), fakeInstance(2, { name })];
  await using opened = await openList(pages);
  const { page } = opened;
  for (const at of [0, 1]) await page.getByRole('checkbox').nth(at).check();
  assert.ok((await page.getByRole('row').nth(2).innerText()).includes(description));
  await page.getByRole('link', { name: 'Compare' }).click();
  await page.getByText(`${name} (inst_0000000000000001)`).first().waitFor();
  assert.is(await page.locator('main img, main script').count(), 0);
  assert.is(await page.title(), 'Compare two instances · Identity Engine');
  assertQuiet(opened);
});

list('shows a viewer everything without offering changes', async (pages) => {
  pages.account.instances = fakeInstances(2);
  const viewer = await pages.desk.member(await pages.desk.owner(), 'vera@example.com', 'viewer');
  await using opened = await pages.open('/instances', viewer);
  const { page } = opened;
  await page.getByText('1 to 2 of 2 instances').waitFor();
  assert.is(await page.getByRole('link', { name: /Create/ }).count(), 0);
  for (const path of ['/instances/new', '/instances/test']) {
    await page.goto(`${pages.origin}${path}`);
    await page.getByRole('heading', { name: 'Your role does not allow this page' }).waitFor();
  }
  pages.account.instances = [];
  await page.goto(`${pages.origin}/instances`);
  await page.getByText('Owners and developers of the account can create instances').waitFor();
  assertQuiet(opened);
});

list('is hidden from roles without instances', async (pages) => {
  const payer = await pages.desk.member(await pages.desk.owner(), 'bob@example.com', 'billing');
  await using opened = await pages.open('/instances', payer);
  const { page } = opened;
  await page.getByRole('heading', { name: 'Your role does not allow this page' }).waitFor();
  assert.is(await page.getByRole('link', { name: 'Instances' }).count(), 0);
  assert.equal(asked(pages), []);
  assertQuiet(opened);
});

list('works with the keyboard alone', async (pages) => {
  pages.account.instances = fakeInstances(2);
  await using opened = await openList(pages);
  const { page } = opened;
  await page.getByText('1 to 2 of 2 instances').waitFor();
  const until = async (what: string) => {
    const focused = 'document.activeElement.ariaLabel || document.activeElement.textContent';
    for (let presses = 0; (await page.evaluate(focused)) !== what; presses += 1) {
      assert.ok(presses < 20, `${what} is reached`);
      await page.keyboard.press('Tab');
    }
  };
  for (const name of ['Instance 2', 'Instance 1']) {
    await until(`Select ${name} to compare`);
    await page.keyboard.press('Space');
  }
  await until('Compare');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'State and style' }).waitFor();
  assertQuiet(opened);
});

list.run();
