import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { faultsOf } from '#test/console/pages/fakes/axe';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import type { TestPages } from '#test/console/pages/fakes/pages-fixture';
import { observeExtremes, supportDesk } from '#test/console/pages/fakes/support-desk';
import { openLive, openTab } from '#test/console/pages/instance/live-page';

const WIDTHS = [390, 768, 1280];
const SCHEMES = ['light', 'dark'] as const;

/** Widths at which nothing may reach beyond the page, besides `WIDTHS`. */
const OTHER_WIDTHS = [700, 821, 900, 1100];

/** Asserts that no part of the page extends into the right margin of the window. */
async function assertFits(page: Page, width: number, what: string): Promise<void> {
  await page.setViewportSize({ width, height: 900 });
  const reach =
    await page.evaluate(`Math.max(...[...document.querySelectorAll('main > *, .tab > *')]
    .map((one) => one.getBoundingClientRect().right))`);
  assert.ok(Number(reach) <= width - 16, `${what}: ${reach} of ${width}`);
}

async function assertAccessible(page: Page, what: string): Promise<void> {
  for (const width of WIDTHS) {
    await assertFits(page, width, what);
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme });
      assert.equal(await faultsOf(page), [], `${what}, ${colorScheme}, ${width}`);
    }
  }
  for (const width of OTHER_WIDTHS) await assertFits(page, width, what);
}

/** Opens a tab of an instance with a past that reaches all levels. */
async function open(pages: TestPages, tab: string) {
  const backend = supportDesk(pages.account);
  for (let count = 0; count < 40; count += 1) observeExtremes(backend, count);
  const opened = await openLive(pages, backend, tab);
  await opened.page.locator('.skeleton').first().waitFor({ state: 'detached' });
  return opened;
}

const accessible = browserSuite('axe finds no violation, and nothing overflows, on the tab');

accessible('State', async (pages) => {
  await using opened = await open(pages, 'state');
  for (const summary of await opened.page.locator('summary').all()) await summary.click();
  await assertAccessible(opened.page, 'state');
  assertQuiet(opened);
});

accessible('Course, with a selected state and a comparison', async (pages) => {
  await using opened = await open(pages, 'course');
  const { page } = opened;
  await page.getByRole('slider').focus();
  await page.keyboard.press('Home');
  await page.getByRole('button', { name: 'Compare with now' }).click();
  for (const summary of await page.locator('summary').all()) await summary.click();
  await assertAccessible(page, 'course');
  assertQuiet(opened);
});

accessible('Course, with the dialog of a fork', async (pages) => {
  await using opened = await open(pages, 'course');
  const { page } = opened;
  await page.getByRole('slider').focus();
  await page.keyboard.press('Home');
  await page.getByRole('button', { name: 'Fork from here …' }).click();
  await page.getByRole('dialog').waitFor();
  await assertAccessible(page, 'fork');
  assertQuiet(opened);
});

accessible('Try, with a simulation', async (pages) => {
  await using opened = await open(pages, 'try');
  const { page } = opened;
  await page.getByRole('button', { name: 'Try it on a copy' }).click();
  await page.getByText('The instance did not change.').waitFor();
  await assertAccessible(page, 'try');
  assertQuiet(opened);
});

accessible('History, and Connect with each sample', async (pages) => {
  await using opened = await open(pages, 'history');
  const { page } = opened;
  await page.getByRole('row', { name: /^40 / }).waitFor();
  await assertAccessible(page, 'history');
  await openTab(page, 'Connect');
  await assertAccessible(page, 'connect');
  assertQuiet(opened);
});

accessible('Settings, with its dialogs', async (pages) => {
  await using opened = await open(pages, 'settings');
  const { page } = opened;
  await assertAccessible(page, 'settings');
  for (const name of ['Reset …', 'Delete …']) {
    await page.getByRole('button', { name }).click();
    await page.getByRole('dialog').waitFor();
    await assertAccessible(page, name);
    await page.getByRole('button', { name: 'Cancel' }).click();
  }
  assertQuiet(opened);
});

accessible.run();
