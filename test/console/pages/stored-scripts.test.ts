import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { ACCOUNT_ID, PASSWORD, tokenIn } from '#test/console/console-fixture';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import { FakeBackend } from '#test/console/pages/fakes/fake-backend';
import type { TestPages } from '#test/console/pages/fakes/pages-fixture';
import { fillSample } from '#test/console/pages/fakes/sample-account';
import { ANALYST, CALM, untilCycle } from '#test/console/pages/instance/live-page';

/** Text that JSON does not escape. */
const PLAIN = '<script>ran()</script> <img src=x onerror=ran()> javascript:ran()';

/** Text whose parts each call `ran` in a page that treats the text as markup or as an address. */
const HOSTILE = [
  PLAIN,
  '"><svg onload=ran()></svg>',
  '</script></title></textarea><iframe srcdoc="<script>parent.ran()</script>"></iframe>',
].join(' ');

/** Selector of the elements that a hostile text would create as markup. */
const MADE = `img, iframe, svg[onload], body script, a[href^="javascript:"]`;

/** Opens a page without its security policy, so that text that becomes markup runs. */
async function openBare(pages: TestPages, path: string, owner = pages.desk.owner()) {
  const opened = await pages.open('/', await owner, { bypassCSP: true });
  await opened.page.addInitScript('globalThis.runs = 0; globalThis.ran = () => { runs += 1; };');
  await opened.page.goto(`${pages.origin}${path}`);
  return opened;
}

/**
 * Asserts that the page shows the hostile text literally, at least `timesMin` times, and that no
 * part of the text became an element or ran.
 */
async function assertText(page: Page, timesMin = 1): Promise<void> {
  const hostile = page.getByText(PLAIN, { exact: false });
  await hostile
    .nth(timesMin - 1)
    .waitFor({ state: 'attached' })
    .catch(() => assert.unreachable(`${page.url()} shows the text ${timesMin} times`));
  assert.is(await page.locator(MADE).count(), 0, page.url());
  assert.is(await page.evaluate('runs'), 0, page.url());
}

const scripts = browserSuite('stored texts that contain scripts');

scripts(
  'run in a page that treats them as markup, so these tests would detect them',
  async (pages) => {
    await using opened = await openBare(pages, '/');
    const { page } = opened;
    await page.evaluate(`document.body.innerHTML = ${JSON.stringify(HOSTILE)}`);
    await page.waitForFunction('runs > 1');
    assert.ok((await page.locator(MADE).count()) > 2);
  },
);

scripts('are shown as text in the context, name and description of an instance', async (pages) => {
  const backend = new FakeBackend(pages.account, HOSTILE, ANALYST, HOSTILE);
  const context = { [HOSTILE]: HOSTILE, link: 'javascript:ran()' };
  backend.observe(CALM, context);
  const path = `/instances/${backend.instance.id}`;
  await using opened = await openBare(pages, `${path}?tab=history`);
  const { page } = opened;
  const tab = (name: string) => page.getByRole('main').getByRole('link', { name, exact: true });
  // The page loads cycle 1 at its start, and receives cycle 2 from the stream.
  for (const cycle of [1, 2]) {
    if (cycle === 2) backend.observe(CALM, context);
    await untilCycle(page, cycle);
    await page.getByRole('button', { name: `Context of cycle ${cycle}` }).click();
    await assertText(page, 3 + cycle);
    await page.getByRole('button', { name: 'Close' }).click();
  }
  await tab('Try').click();
  await page.getByRole('textbox', { name: 'Context' }).fill(JSON.stringify({ text: HOSTILE }));
  for (const language of ['curl', 'TypeScript', 'Python']) {
    await page.getByRole('button', { name: language, exact: true }).click();
    await page.locator('.code pre').getByText('<img src=x onerror=ran()>').waitFor();
    await assertText(page);
  }
  for (const name of ['Course', 'Connect', 'State']) {
    await tab(name).click();
    await assertText(page);
  }
  await tab('Settings').click();
  await page.getByRole('button', { name: 'Delete …' }).click();
  await assertText(page, 4);
  assertQuiet(opened);
});

scripts('are shown as text in the lists of instances, keys, usage and audit', async (pages) => {
  const { account } = pages;
  fillSample(account);
  new FakeBackend(account, HOSTILE, ANALYST, HOSTILE);
  account.keys = account.keys.map((key) => ({
    ...{ ...key, name: HOSTILE, networks: [HOSTILE] },
    last_used: { at: '2026-01-15T11:58:00.000Z', address: HOSTILE, client: HOSTILE },
  }));
  account.months = account.months.map((month) => ({
    ...month,
    keys: [{ id: 'key_x', name: HOSTILE, cycles: 12 }],
  }));
  const party = { name: HOSTILE, id: HOSTILE, more: HOSTILE };
  account.actions = account.actions.map((row) => ({
    ...row,
    ...{ action: HOSTILE, target: party, address: HOSTILE, request_id: HOSTILE, code: HOSTILE },
    ...{ actor: { kind: 'operator', ...party, session: HOSTILE } },
    ...{ before: { [HOSTILE]: HOSTILE }, after: { [HOSTILE]: { [HOSTILE]: HOSTILE } } },
  }));
  const query = encodeURIComponent(HOSTILE);
  await using opened = await openBare(pages, '/keys');
  const { page } = opened;
  await assertText(page, account.keys.length);
  await page
    .getByRole('button', { name: /^Rename/ })
    .first()
    .click();
  await assertText(page, account.keys.length);
  await page.goto(`${pages.origin}/usage`);
  await assertText(page);
  await page.goto(`${pages.origin}/fleet`);
  await assertText(page, 1);
  // The search text in the address is shown as text too.
  await page.goto(`${pages.origin}/fleet?search=${query}&tag.${query}=${query}`);
  await page.getByText('1 selected').waitFor();
  await assertText(page, 2);
  await page.goto(`${pages.origin}/audit`);
  await page
    .getByRole('button', { name: /^Details/ })
    .first()
    .click();
  await assertText(page, 10);
  await page.goto(`${pages.origin}/audit?search=${query}`);
  await assertText(page);
  assertQuiet(opened);
});

scripts('are shown as text in names and emails of members, and in sessions', async (pages) => {
  const { desk } = pages;
  const signedIn = desk.owner();
  const owner = await signedIn;
  const invited = { email: 'vera@example.com', role: 'viewer' };
  const { data } = await owner.expect(201, 'POST', '/members/invitations', invited);
  const body = { token: tokenIn(data['link']), password: PASSWORD, name: HOSTILE.slice(0, 100) };
  await desk.browser().expect(201, 'POST', '/invitations/accept', body);
  // No route accepts such an address, but the page must not rely on that.
  const times = { createdAtMs: desk.clock.wallMs(), expiresAtMs: desk.clock.wallMs() + 60_000 };
  const link = { kind: 'invitation', accountId: ACCOUNT_ID, digest: 'd'.repeat(43) } as const;
  await desk.ports.members.addLink({ ...link, ...times, email: HOSTILE, role: 'viewer' });
  await using opened = await openBare(pages, '/members', signedIn);
  const { page } = opened;
  await assertText(page);
  await page.getByText(HOSTILE.slice(0, 60), { exact: false }).nth(1).waitFor();
  await page.getByRole('button', { name: /^Withdraw the invitation/ }).click();
  await assertText(page, 2);
  assertQuiet(opened);
});

scripts('are exported as files that no browser displays', async ({ desk }) => {
  const owner = await desk.owner();
  for (const path of ['/usage/export?format=csv', '/usage/export?format=json', '/audit/export']) {
    const { status, headers } = await owner.send('GET', path);
    assert.is(status, 200, path);
    assert.match(String(headers['content-disposition']), /^attachment; filename="[\w.-]+"$/, path);
    assert.is(headers['x-content-type-options'], 'nosniff', path);
    assert.not.match(String(headers['content-type']), /html|xml|svg/, path);
  }
});

scripts.run();
