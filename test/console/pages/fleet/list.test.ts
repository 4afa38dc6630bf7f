import * as assert from 'uvu/assert';
import { DRIFT_LEVELS } from '#identity/drift';
import { STRESS_STATES } from '#identity/state';
import { LEADING_MODES } from '#identity/transitions';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import { fakeInstance, fakeInstances } from '#test/console/pages/fakes/fake-instances';
import type { TestPages, WatchedPage } from '#test/console/pages/fakes/pages-fixture';
import { supportDesk } from '#test/console/pages/fakes/support-desk';

const list = browserSuite('the list of the fleet');

async function openList(pages: TestPages, query = ''): Promise<WatchedPage> {
  const opened = await pages.open(`/fleet${query}`, await pages.desk.owner());
  await opened.page.getByRole('heading', { name: 'Fleet', exact: true }).waitFor();
  return opened;
}

const namesOn = ({ page }: WatchedPage) => page.locator('.row-name').allTextContents();

const asked = ({ account }: TestPages) =>
  account.sent
    .filter(({ route }) => route === 'GET /api/instances')
    .map(({ body }) => ({ ...(body as Record<string, string>) }));

list('shows new instances first, with tags, state, cycle and time', async (pages) => {
  const observed = [{ mode: 2, signal: 0.7, confidence: 1 }];
  pages.account.instances = [
    fakeInstance(1, { name: 'Ada', tags: { team: 'docs' }, observed }),
    fakeInstance(2, { name: 'Bob' }),
  ];
  await using opened = await openList(pages);
  const { page } = opened;
  const row = page.getByRole('row', { name: /Ada/ });
  const text = (await row.innerText()).replaceAll(/\s+/g, ' ');
  assert.match(text, /Ada team: docs LOW D\d [A-Z]\w+ 1 10 Jan 2026, 02:00/);
  assert.equal(await namesOn(opened), ['Bob', 'Ada']);
  const link = page.getByRole('link', { name: 'Ada' });
  assert.is(await link.getAttribute('href'), '/instances/inst_0000000000000001');
  await page.getByText('2 instances', { exact: true }).waitFor();
  assert.is(await page.locator('nav [aria-current]').textContent(), 'Fleet');
  assertQuiet(opened);
});

list('searches while the user types, and keeps the search in the address', async (pages) => {
  pages.account.instances = fakeInstances(30);
  const { instance } = supportDesk(pages.account);
  await using opened = await openList(pages);
  const { page } = opened;
  await page.getByText('31 instances').waitFor();
  await page.getByLabel('Search').focus();
  // Timers of the page run in order, however busy the machine is.
  await page.evaluate(`(async () => {
    for (const text of ['S', 'SU', 'SUP', 'SUPPORT']) {
      document.activeElement.value = text;
      document.activeElement.dispatchEvent(new Event('input', { bubbles: true }));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })()`);
  await page.getByText('1 selected').waitFor();
  assert.equal(await namesOn(opened), [instance.name]);
  assert.is(new URL(page.url()).search, '?search=SUPPORT');
  const searches = asked(pages).map(({ search }) => search);
  assert.equal(searches, [undefined, 'SUPPORT'], 'no request for each letter');
  const focused = await page.evaluate('document.activeElement.id');
  assert.is(focused, 'search', 'the field keeps the focus');
  await page.reload();
  await page.getByText('1 selected').waitFor();
  assert.is(await page.getByLabel('Search').inputValue(), 'SUPPORT');
  await page.getByRole('link', { name: instance.name }).click();
  await page.getByRole('heading', { name: instance.name }).waitFor();
  await page.getByRole('link', { name: 'Back to the fleet' }).click();
  await page.getByText('1 selected').waitFor();
  await page.getByLabel('Search').fill('nothing <i>like</i> it');
  await page.getByText('No instance matches').waitFor();
  await page.getByRole('link', { name: 'Show all instances' }).click();
  await page.getByText('31 instances').waitFor();
  assert.is(await page.getByLabel('Search').inputValue(), '');
  assertQuiet(opened);
});

list('has every row of a long fleet by keyboard, one page of data at a time', async (pages) => {
  pages.account.instances = fakeInstances(2_000);
  await using opened = await openList(pages, '?sort=created_at&order=asc');
  const { page } = opened;
  const rows = page.getByRole('region', { name: 'Rows of the instances' });
  await page.getByRole('link', { name: 'Instance 1', exact: true }).waitFor();
  assert.ok((await page.locator('tbody tr').count()) <= 15, 'only visible rows are rendered');
  await rows.focus();
  await page.keyboard.press('End');
  await page.getByRole('link', { name: 'Instance 2000' }).waitFor();
  await page.keyboard.press('Home');
  await page.getByRole('link', { name: 'Instance 1', exact: true }).waitFor();
  await page.keyboard.press('PageDown');
  await page.getByRole('link', { name: 'Instance 14', exact: true }).waitFor();
  assert.equal(
    asked(pages).map(({ offset, limit }) => [offset, limit]),
    [
      [undefined, '100'],
      ['1900', '100'],
    ],
  );
  await page.getByLabel('Order', { exact: true }).selectOption('Newest change first');
  await page.getByRole('link', { name: 'Instance 2000' }).waitFor();
  await rows.focus();
  for (let count = 0; count < 9; count += 1) await page.keyboard.press('PageDown');
  await page.getByRole('link', { name: 'Instance 1880', exact: true }).waitFor();
  assert.is(asked(pages).at(-1)?.['cursor'], '100', 'this order has cursors only');
  assert.is(new URL(page.url()).search, '?sort=changed_at&order=desc');
  await page.goBack();
  await page.getByRole('link', { name: 'Instance 1', exact: true }).waitFor();
  assertQuiet(opened);
});

list('counts an event once that the log repeats after a reconnect', async (pages) => {
  pages.account.instances = fakeInstances(3);
  await using opened = await pages.open('/security', await pages.desk.owner());
  const { page } = opened;
  const zero = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 0]));
  const counts = {
    ...{ total: 3, unknown: 0, tags: [], different_tags: 0, recent_events: [] },
    stress_states: { ...zero(STRESS_STATES), LOW: 3 },
    drift_levels: { ...zero(DRIFT_LEVELS), D0: 3 },
    dominant_modes: { ...zero(LEADING_MODES), None: 3 },
    as_of: { time: '2026-01-15T12:00:00.000Z', events_cursor: 'c0' },
  };
  const event = {
    ...{ id: 'evt_1', type: 'stress_changed', instance_id: 'inst_0000000000000001', cycle: 1 },
    ...{ occurred_at: '2026-01-15T12:00:01.000Z', from: 'LOW', to: 'OVER' },
  };
  let streams = 0;
  await page.route('**/api/fleet', (route) => route.fulfill({ json: { data: counts } }));
  await page.route('**/api/events?**', (route) => {
    streams += 1;
    const body = `retry: 10\n\nid: c1\nevent: stress_changed\ndata: ${JSON.stringify(event)}\n\n`;
    return route.fulfill({ contentType: 'text/event-stream', body });
  });
  await page.getByRole('link', { name: 'Fleet', exact: true }).click();
  await page.getByRole('link', { name: /^OVER 1 / }).waitFor();
  while (streams < 5) await page.waitForRequest('**/api/events?**');
  await page.getByRole('link', { name: /^LOW 2 / }).waitFor();
  await page.getByRole('link', { name: /^OVER 1 / }).waitFor();
  assert.is(await page.locator('.changes li').count(), 1);
});

list('explains what to do if the fleet is empty', async (pages) => {
  await using opened = await openList(pages);
  await opened.page.getByText('There are no instances yet').waitFor();
  await opened.page
    .getByRole('main')
    .getByRole('link', { name: 'Create an instance' })
    .first()
    .click();
  await opened.page.getByRole('heading', { name: 'Create an instance' }).waitFor();
  assertQuiet(opened);
});

list('shows why loading failed, and when to try again', async (pages) => {
  pages.account.broken.set('GET /api/instances', {
    ...{ status: 429, headers: { 'retry-after': '40' } },
    body: { error: 'rate_limited', message: 'too many requests this minute', retry_after: 40 },
  });
  await using opened = await openList(pages);
  const { page } = opened;
  const alert = page.getByRole('alert').filter({ hasText: 'Too many requests' });
  assert.match(
    await alert.innerText(),
    /Too many requests this minute\. Try again in 40 seconds\./,
  );
  pages.account.broken.clear();
  pages.account.instances = fakeInstances(1);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('link', { name: 'Instance 1' }).waitFor();
  assertQuiet(opened, ['429 /api/instances?sort=created_at&order=desc&limit=100']);
});

list('leads to the comparison of two instances, by keyboard alone', async (pages) => {
  pages.account.instances = fakeInstances(2);
  await using opened = await openList(pages);
  const { page } = opened;
  await page.getByRole('link', { name: 'Instance 2' }).waitFor();
  const until = async (what: string) => {
    const focused = 'document.activeElement.ariaLabel || document.activeElement.textContent';
    for (let presses = 0; (await page.evaluate(focused)) !== what; presses += 1) {
      assert.ok(presses < 60, `${what} is reached`);
      await page.keyboard.press('Tab');
    }
  };
  for (const name of ['Instance 2', 'Instance 1']) {
    await until(`Select ${name}`);
    await page.keyboard.press('Space');
  }
  await until('Compare');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'State and style' }).waitFor();
  assert.is(new URL(page.url()).pathname, '/fleet/compare');
  assertQuiet(opened);
});

list('shows names and tags as plain text', async (pages) => {
  const name = '<img src=x onerror=alert(1)>';
  const tags = { team: '"><script>document.title="taken"</script>' };
  pages.account.instances = [fakeInstance(1, { name, tags }), fakeInstance(2, { name })];
  await using opened = await openList(pages);
  const { page } = opened;
  for (const at of [0, 1])
    await page
      .getByRole('checkbox', { name: /^Select </ })
      .nth(at)
      .check();
  assert.ok((await page.getByRole('row').nth(2).innerText()).includes(tags.team));
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
  await page.getByText('2 instances', { exact: true }).waitFor();
  assert.is(new URL(page.url()).pathname, '/fleet', 'an earlier address works');
  await page.getByRole('checkbox', { name: 'Select Instance 1' }).check();
  await page.getByText('Instance 1 selected').waitFor();
  assert.is(await page.getByRole('button', { name: /Delete|Reset|Tag/ }).count(), 0);
  assert.is(await page.getByRole('link', { name: /Create/ }).count(), 0);
  for (const path of ['/instances/new', '/instances/test']) {
    await page.goto(`${pages.origin}${path}`);
    await page.getByRole('heading', { name: 'Your role does not allow this page' }).waitFor();
  }
  pages.account.instances = [];
  await page.goto(`${pages.origin}/fleet`);
  await page.getByText('Owners and developers of the account can create instances').waitFor();
  assertQuiet(opened);
});

list('is hidden from roles without instances', async (pages) => {
  const payer = await pages.desk.member(await pages.desk.owner(), 'bob@example.com', 'billing');
  await using opened = await pages.open('/fleet', payer);
  const { page } = opened;
  await page.getByRole('heading', { name: 'Your role does not allow this page' }).waitFor();
  assert.is(await page.getByRole('link', { name: 'Fleet' }).count(), 0);
  assert.equal(asked(pages), []);
  assertQuiet(opened);
});

list.run();
