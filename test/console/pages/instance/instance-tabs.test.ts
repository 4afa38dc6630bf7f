import { type BrowserContext, chromium, type Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { freePort } from '#deploy/local/servers/free-port';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import { FakeBackend } from '#test/console/pages/fakes/fake-backend';
import { type TestPages, watchPage } from '#test/console/pages/fakes/pages-fixture';
import { ANALYST, CALM, untilCycle } from '#test/console/pages/instance/live-page';
import { launchChromium } from '#test/support/servers/chromium';

/** Number of tabs: one more than a browser's HTTP/1.1 connections to one address. */
const TABS = 7;

/** A browser with one window whose pages are tabs. */
type TabbedChromium = AsyncDisposable & { readonly context: BrowserContext };

/**
 * Starts a browser in which only one tab is visible, as for a person. With `launchChromium`, all
 * pages are visible.
 */
async function launchTabbedChromium(): Promise<TabbedChromium> {
  await using opening = new AsyncDisposableStack();
  const port = await freePort();
  const browser = await launchChromium([`--remote-debugging-port=${port}`]);
  opening.defer(() => browser.close());
  const attached = await chromium.connectOverCDP(`http://127.0.0.1:${port}`, { noDefaults: true });
  opening.defer(() => attached.close());
  const [context] = attached.contexts();
  if (context === undefined) throw new Error('the browser has no window');
  const opened = opening.move();
  return { context, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Opens tabs with the same instance page, one by one. The last tab is visible. */
async function openTabs(pages: TestPages, backend: FakeBackend, count: number) {
  await using opening = new AsyncDisposableStack();
  const { context } = opening.use(await launchTabbedChromium());
  const { cookies } = await pages.desk.owner();
  await context.addCookies(
    [...cookies].map(([name, value]) => ({ name, value, url: pages.origin })),
  );
  const tabs: ReturnType<typeof watchPage>[] = [];
  for (let index = 0; index < count; index += 1) {
    const tab = watchPage(await context.newPage(), pages.origin);
    await tab.page.goto(`${pages.origin}/instances/${backend.instance.id}?tab=history`);
    await tab.page.getByText('live', { exact: true }).waitFor();
    tabs.push(tab);
  }
  const opened = opening.move();
  return { tabs, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

const isHidden = async (page: Page) => await page.evaluate('document.hidden');

const tabs = browserSuite('the instance page in several tabs of one browser');

tabs('is live in the visible tab, however many tabs are open', async (pages) => {
  const backend = new FakeBackend(pages.account, 'Ada', ANALYST);
  await using opened = await openTabs(pages, backend, TABS);
  const [first, second, ...others] = opened.tabs;
  const last = others.at(-1);
  assert.ok(first && second && last);
  assert.equal([await isHidden(first.page), await isHidden(last.page)], [true, false]);
  await backend.untilLeft(1);
  backend.observe(CALM);
  await untilCycle(last.page, 1);

  for (let count = 0; count < 4; count += 1) backend.observe(CALM);
  await first.page.bringToFront();
  await untilCycle(first.page, 5);
  await first.page.getByText('5 observations of this generation').waitFor();
  await first.page.getByText('live', { exact: true }).waitFor();
  assert.is(backend.opened.at(-1), '0');

  backend.floor = 3;
  await second.page.bringToFront();
  await second.page.getByText('Observations 1 to 3 are no longer stored').waitFor();
  for (const tab of opened.tabs) assertQuiet(tab);
});

tabs('resumes after its last event when the user returns to its tab', async (pages) => {
  const backend = new FakeBackend(pages.account, 'Ada', ANALYST);
  await using opened = await openTabs(pages, backend, 2);
  const [one, other] = opened.tabs;
  assert.ok(one && other);
  for (const [index, { page }] of [one, other].entries()) {
    await backend.untilLeft(1);
    await page.bringToFront();
    await backend.untilOpened(3 + index);
  }
  await backend.untilLeft(1);
  // This visit is too short for the other tab to close its stream.
  await one.page.bringToFront();
  await other.page.bringToFront();
  for (let count = 0; count < 2; count += 1) backend.observe(CALM);
  await untilCycle(other.page, 2);
  await one.page.bringToFront();
  await untilCycle(one.page, 2);
  await one.page.getByText('2 observations of this generation').waitFor();
  // Two first visits, a return to each tab, and a last return. The short visit opened no stream.
  assert.equal(backend.opened, [undefined, undefined, '0', '0', '0']);
  for (const tab of opened.tabs) assertQuiet(tab);
});

tabs.run();
