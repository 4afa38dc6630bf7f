import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { faultsOf } from '#test/console/pages/fakes/axe';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import { fakeInstance, fakeInstances } from '#test/console/pages/fakes/fake-instances';
import type { TestPages } from '#test/console/pages/fakes/pages-fixture';

const palette = browserSuite('the command palette');

/** Opens a page as the owner, ready for keys. */
async function openAt(pages: TestPages, path: string) {
  const opened = await pages.open(path, await pages.desk.owner());
  await opened.page.locator('h1').waitFor();
  return opened;
}

const isFocusLost = (page: Page) => page.evaluate('document.activeElement === document.body');

/** Waits until Enter runs this command. */
const highlighted = (page: Page, text: string) =>
  page.locator('[role=option][data-highlighted]', { hasText: text }).waitFor();

const searches = ({ account }: TestPages) =>
  account.sent.filter(
    ({ route, body }) => route === 'GET /api/instances' && 'search' in (body as object),
  );

palette(
  'opens with Ctrl K, goes to a page with Enter, and leaves the focus there',
  async (pages) => {
    await using opened = await openAt(pages, '/security');
    const { page } = opened;
    await page.keyboard.press('Control+k');
    const input = page.getByRole('combobox', { name: 'Page, action or instance' });
    await input.fill('usag');
    await highlighted(page, 'Usage');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Usage', exact: true }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.is(await isFocusLost(page), false);
    assertQuiet(opened);
  },
);

palette('finds instances after a pause, with one request for a typed word', async (pages) => {
  pages.account.instances = [...fakeInstances(9), fakeInstance(10, { name: 'Grace Hopper' })];
  await using opened = await openAt(pages, '/security');
  const { page } = opened;
  await page.keyboard.press('Control+k');
  const input = page.getByRole('combobox', { name: 'Page, action or instance' });
  await input.waitFor();
  await page.clock.install({ time: 0 });
  await page.clock.pauseAt(60_000);
  for (const letter of 'hopper') await page.keyboard.press(letter);
  // The effects of the page run in timers too.
  await page.clock.runFor(100);
  await page.getByText('Searching instances …').waitFor();
  assert.equal(searches(pages), []);
  await page.clock.runFor(1_000);
  const option = page.getByRole('option', { name: /^Grace Hopper/ });
  await option.waitFor();
  assert.is(searches(pages).length, 1);
  await option.click();
  await page.waitForURL(/\/instances\/inst_000000000000000a$/);
});

palette('opens the dialog of an action on its page, also on the present page', async (pages) => {
  await using opened = await openAt(pages, '/security');
  const { page } = opened;
  for (let round = 0; round < 2; round += 1) {
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').fill('create key');
    await highlighted(page, 'Create an API key');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Create a key' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.is(await isFocusLost(page), false);
  }
  assertQuiet(opened);
});

palette('offers only what the role allows', async (pages) => {
  const owner = await pages.desk.owner();
  const viewer = await pages.desk.member(owner, 'vera@example.com', 'viewer');
  await using opened = await pages.open('/security', viewer);
  const { page } = opened;
  await page.getByRole('button', { name: /^Search or run/ }).click();
  await page.getByRole('option', { name: 'Sign out' }).waitFor();
  const texts = await page.getByRole('dialog').getByRole('option').allTextContents();
  assert.ok(texts.includes('Fleet'));
  for (const text of ['Members', 'Audit', 'Create an API key', 'Create an instance']) {
    assert.is(texts.includes(text), false, text);
  }
  assertQuiet(opened);
});

palette('is accessible in both themes and fits a phone', async (pages) => {
  await using opened = await openAt(pages, '/security');
  const { page } = opened;
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').getByRole('option').first().waitFor();
  for (const [width, colorScheme] of [
    [1280, 'light'],
    [390, 'dark'],
  ] as const) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    assert.equal(await faultsOf(page), [], `${width} ${colorScheme}`);
    const box = await page.getByRole('dialog').boundingBox();
    assert.ok(box !== null && box.x >= 0 && box.x + box.width <= width, `${width}`);
  }
  assertQuiet(opened);
});

const shortcuts = browserSuite('the keyboard shortcuts');

shortcuts('go to pages, create an instance and focus the search', async (pages) => {
  await using opened = await openAt(pages, '/security');
  const { page } = opened;
  for (const [keys, heading] of [
    ['gk', 'API keys'],
    ['gu', 'Usage'],
    ['c', 'Create an instance'],
    ['gf', 'Fleet'],
  ] as const) {
    for (const key of keys) await page.keyboard.press(key);
    await page.getByRole('heading', { name: heading, exact: true }).waitFor();
  }
  await page.locator('#search').waitFor();
  await page.keyboard.press('/');
  assert.is(await page.evaluate('document.activeElement.id'), 'search');
  assert.is(await page.locator('#search').inputValue(), '');
});

shortcuts('are not active while the user types, in dialogs or after a pause', async (pages) => {
  await using opened = await openAt(pages, '/instances/new');
  const { page } = opened;
  await page.getByLabel('Name', { exact: true }).fill('');
  for (const key of 'gk?') await page.keyboard.press(key);
  assert.is(await page.getByLabel('Name', { exact: true }).inputValue(), 'gk?');
  await page.locator('h1').focus();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  for (const key of 'gk') await page.keyboard.press(key);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  // The time of an event is the time of the system, which the test's clock does not change.
  await page.evaluate(`
    for (const [key, timeStamp] of [['g', 1_000], ['k', 2_600]]) {
      const event = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true });
      Object.defineProperty(event, 'timeStamp', { value: timeStamp });
      document.body.dispatchEvent(event);
    }`);
  assert.is(new URL(page.url()).pathname, '/instances/new');
});

shortcuts('are listed in a dialog, and can be turned off', async (pages) => {
  await using opened = await openAt(pages, '/security');
  const { page } = opened;
  await page.keyboard.press('?');
  const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await dialog.getByText('Go to the API keys').waitFor();
  assert.equal(await faultsOf(page), []);
  await dialog.getByRole('checkbox').uncheck();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.reload();
  await page.locator('h1').waitFor();
  for (const key of ['g', 'k', '?']) await page.keyboard.press(key);
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').getByRole('combobox').waitFor();
  assert.is(new URL(page.url()).pathname, '/security');
  assertQuiet(opened);
});

for (const each of [palette, shortcuts]) each.run();
