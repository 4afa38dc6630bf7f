import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import type { TestPages } from '#test/console/pages/fakes/pages-fixture';
import { fillSample } from '#test/console/pages/fakes/sample-account';
import { supportDesk } from '#test/console/pages/fakes/support-desk';

/** Maximum cumulative layout shift of a page. Above 0.1, people notice. */
const SHIFT_MAX = 0.05;

/** Maximum answers of one page. */
const ANSWERS_MAX = 40;

const PAGES = [
  ...['/overview', '/fleet', '/keys', '/usage', '/billing', '/members', '/audit', '/security'],
  ...['/instances/new', '/webhooks'],
];

const loading = browserSuite('while a page loads');

/** Script that sums up the layout shifts of a page. */
const WATCH = `
  globalThis.shift = 0;
  globalThis.moved = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      globalThis.shift += entry.value;
      for (const { node } of entry.sources) globalThis.moved.push(node?.className ?? '');
    }
  }).observe({ type: 'layout-shift', buffered: true });`;

const drawn = (page: Page) =>
  page.evaluate(
    'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))',
  );

/** Opens a page whose answers arrive one after the other, each after the page was drawn. */
async function openSlowly(page: Page, address: string): Promise<void> {
  const held: (() => Promise<void>)[] = [];
  await page.route('**/api/**', (route) => void held.push(() => route.continue()));
  await page.goto(address, { waitUntil: 'commit' });
  for (let answers = 0; answers < ANSWERS_MAX; answers += 1) {
    await drawn(page);
    const next = held.shift();
    if (next === undefined) continue;
    const isStream = page.waitForResponse(() => true).catch(() => undefined);
    await next();
    await isStream;
  }
}

async function assertStill(pages: TestPages, width: number): Promise<void> {
  fillSample(pages.account);
  const owner = await pages.desk.owner();
  for (const path of PAGES) {
    await using opened = await pages.open('/nowhere', owner, {
      viewport: { width, height: 844 },
    });
    const { page } = opened;
    await page.addInitScript(WATCH);
    await openSlowly(page, `${pages.origin}${path}`);
    await page.locator('h1').waitFor();
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    await drawn(page);
    const { shift, moved } = (await page.evaluate('({ shift, moved })')) as {
      shift: number;
      moved: string[];
    };
    assert.ok(shift <= SHIFT_MAX, `${path}, ${width} px: ${shift} ${moved.join(', ')}`);
  }
}

loading('nothing jumps on a laptop', (pages) => assertStill(pages, 1280));
loading('nothing jumps on a phone', (pages) => assertStill(pages, 390));

loading('a page whose script is missing after an upgrade offers to load again', async (pages) => {
  await using opened = await pages.open('/security', await pages.desk.owner());
  const { page } = opened;
  await page.locator('h1').waitFor();
  const missing = '**/assets/page-*.js';
  await page.route(missing, (route) => route.abort());
  await page.getByRole('link', { name: 'Webhooks' }).click();
  const again = page.getByRole('button', { name: 'Load the page again' });
  await again.waitFor();
  await page.unroute(missing);
  await again.click();
  await page.getByRole('heading', { name: 'Webhooks' }).waitFor();
});

loading('the chosen theme applies before the first paint', async (pages) => {
  await using opened = await pages.open('/security', await pages.desk.owner());
  const { page } = opened;
  await page.getByLabel('Theme').selectOption('dark');
  await page.route('**/assets/main-*.js', (route) => route.abort());
  await page.reload();
  assert.is(await page.evaluate('document.documentElement.dataset.theme'), 'dark');
  const colour = await page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
  const red = Number(/\d+/.exec(String(colour))?.[0]);
  assert.ok(red < 64, 'the page is dark without the main script');
});

const phone = browserSuite('on a phone');

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

phone('the navigation shows the present page', async (pages) => {
  await using opened = await pages.open('/security', await pages.desk.owner(), PHONE);
  const { page } = opened;
  await page.locator('h1').waitFor();
  const link = page.locator('nav [aria-current]');
  assert.is(await link.textContent(), 'Security');
  const box = await link.boundingBox();
  assert.ok(box !== null && box.x >= 0 && box.x + box.width <= 391, JSON.stringify(box));
  assertQuiet(opened);
});

phone('no field is so small that the browser zooms in', async (pages) => {
  fillSample(pages.account);
  const backend = supportDesk(pages.account);
  const owner = await pages.desk.owner();
  for (const path of [...PAGES, '/instances/test', `/instances/${backend.instance.id}`]) {
    await using opened = await pages.open(path, owner, PHONE);
    const { page } = opened;
    await page.locator('h1').waitFor();
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    const small = await page.evaluate(`
      [...document.querySelectorAll('input, select, textarea')]
        .filter((field) => !['checkbox', 'radio', 'range'].includes(field.type))
        .filter((field) => Number.parseFloat(getComputedStyle(field).fontSize) < 16)
        .map((field) => field.outerHTML.slice(0, 120))`);
    assert.equal(small, [], path);
  }
});

for (const each of [loading, phone]) each.run();
