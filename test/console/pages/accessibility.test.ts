import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { PASSWORD, tokenIn } from '#test/console/console-fixture';
import { faultsOf } from '#test/console/pages/fakes/axe';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import type { TestPages } from '#test/console/pages/fakes/pages-fixture';
import { fillSample } from '#test/console/pages/fakes/sample-account';

/** Windows: phone, tablet and laptop, in both colour schemes. */
const WINDOWS = [1280, 768, 390].flatMap((width) =>
  (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme })),
);

/** Intermediate widths at which nothing may scroll sideways. */
const OTHER_WIDTHS = [1100, 900, 821, 700];

/** Asserts that no part of the page extends into the right margin of the window. */
async function assertWideEnough(page: Page, width: number, path: string): Promise<void> {
  await page.setViewportSize({ width, height: 800 });
  const reach = await page.evaluate(`
    Math.max(...[...document.querySelectorAll('main > *')].map((one) => one.getBoundingClientRect().right))`);
  assert.ok(Number(reach) <= width - 16, `${path}: ${reach} of ${width}`);
}

const skipLink = browserSuite('the skip link');

const accessible = browserSuite('axe finds no violation, and nothing overflows, on');

/** Checks a page in all windows. `act` first brings the page into the state to check. */
async function look(
  pages: TestPages,
  path: string,
  as: Parameters<TestPages['open']>[1],
  act: (page: Page) => Promise<void> = async () => {},
): Promise<void> {
  await using opened = await pages.open(path, as);
  const { page } = opened;
  await page.locator('h1').waitFor();
  await page.locator('.skeleton').first().waitFor({ state: 'detached' });
  await act(page);
  for (const { width, colorScheme } of WINDOWS) {
    await assertWideEnough(page, width, path);
    await page.emulateMedia({ colorScheme });
    assert.equal(await faultsOf(page), [], `${path}, ${colorScheme}, ${width}`);
  }
  for (const width of OTHER_WIDTHS) await assertWideEnough(page, width, path);
  assert.equal(opened.complaints, []);
}

accessible('the pages before the sign-in', async (pages) => {
  await look(pages, '/', undefined);
  await look(pages, `/#/set-up/${await pages.desk.setUpToken()}`, undefined);
  const owner = await pages.desk.owner();
  const body = { email: 'vera@example.com', role: 'viewer' };
  const { data } = await owner.expect(201, 'POST', '/members/invitations', body);
  await look(pages, `/#/invitation/${tokenIn(data['link'])}`, undefined);
  await look(pages, '/', undefined, async (page) => {
    await page.getByLabel('Email').fill('ada@example.com');
    await page.getByLabel('Password').fill('not this one');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
  });
});

accessible('pages with much data', async (pages) => {
  fillSample(pages.account);
  const owner = await pages.desk.owner();
  await pages.desk.member(owner, 'grace@example.com', 'developer');
  const body = { email: 'vera@example.com', role: 'viewer' };
  await owner.expect(201, 'POST', '/members/invitations', body);
  for (const path of ['/', '/overview', '/keys', '/usage', '/billing', '/members', '/security']) {
    await look(pages, path, owner);
  }
  await look(pages, '/audit', owner, async (page) => {
    await page
      .getByRole('button', { name: /^Details/ })
      .first()
      .click();
  });
});

accessible('empty pages and pages with a refusal', async (pages) => {
  const owner = await pages.desk.owner();
  for (const path of ['/overview', '/keys', '/usage', '/billing', '/audit', '/nowhere'])
    await look(pages, path, owner);
});

accessible('pages of instances', async (pages) => {
  const owner = await pages.desk.owner();
  for (const path of ['/fleet', '/fleet/compare']) await look(pages, path, owner);
  fillSample(pages.account);
  await look(pages, '/fleet', owner, async (page) => {
    for (const box of [0, 1]) await page.getByRole('checkbox').nth(box).check();
  });
  const [a, b] = pages.account.instances;
  await look(pages, `/fleet/compare?a=${a?.id}&b=${b?.id}`, owner, async (page) => {
    await page.getByText('Show the numbers').click();
  });
  await look(pages, '/instances/new', owner);
  await look(pages, '/instances/test', owner);
  await look(pages, '/instances/test', owner, async (page) => {
    await page.locator('input[name="q01"]').first().focus();
    for (let count = 0; count < 35; count += 1) await page.keyboard.press(String(1 + (count % 5)));
    await page.getByRole('button', { name: 'See the result' }).click();
    await page.getByText('Show the numbers').click();
  });
});

accessible('dialogs', async (pages) => {
  fillSample(pages.account);
  const owner = await pages.desk.owner();
  const openings: readonly (readonly [string, RegExp])[] = [
    ['/keys', /^Create a key/],
    ['/keys', /^Rotate chat/],
    ['/keys', /^Revoke chat/],
    ['/members', /^Invite/],
    ['/security', /^Set up an/],
  ];
  for (const [path, name] of openings) {
    await look(pages, path, owner, async (page) => {
      await page.getByRole('button', { name }).click();
      await page.getByRole('dialog').waitFor();
    });
  }
});

accessible('dialogs that show a secret once', async (pages) => {
  const owner = await pages.desk.owner();
  await look(pages, '/keys', owner, async (page) => {
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByLabel('Name', { exact: true }).fill('worker');
    await page.keyboard.press('Enter');
    await page.getByLabel('API key').waitFor();
  });
  await look(pages, '/security', owner, async (page) => {
    await page.getByRole('button', { name: 'Set up an authenticator' }).click();
    await page.getByLabel('Your password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('img', { name: 'QR code' }).waitFor();
  });
});

skipLink('leads past the navigation', async (pages) => {
  await using opened = await pages.open('/nowhere', await pages.desk.owner());
  const { page } = opened;
  await page.getByRole('heading', { name: 'Page not found' }).waitFor();
  await page.getByRole('link', { name: 'Skip to the page' }).focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  assert.is(await page.evaluate('document.activeElement.textContent'), 'Go to the overview');
  assertQuiet(opened);
});

for (const each of [accessible, skipLink]) each.run();
