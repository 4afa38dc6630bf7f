import * as assert from 'uvu/assert';
import { browserSuite } from '#test/console/pages/fakes/browser-suite';
import type { TestPages, WatchedPage } from '#test/console/pages/fakes/pages-fixture';

const outage = browserSuite('after an outage,');

const AWAY = {
  status: 503,
  body: { error: 'service_unavailable', message: 'the service is away' },
};

/** Opens the page of keys during an outage. The page has a clock that the test controls. */
async function openDuring(pages: TestPages): Promise<WatchedPage> {
  const opened = await pages.open('/overview', await pages.desk.owner());
  const { page } = opened;
  await page.clock.install();
  pages.account.broken.set('GET /api/keys', AWAY);
  await page.getByRole('link', { name: 'API keys' }).click();
  await page.getByText('The keys could not be loaded.').waitFor();
  return opened;
}

const loadsOf = ({ account }: TestPages) =>
  account.sent.filter(({ route }) => route === 'GET /api/keys').length;

// A page kept its error until a click, although the service answered again.
outage('a page loads again by itself, with growing pauses', async (pages) => {
  await using opened = await openDuring(pages);
  const { page } = opened;
  const times: number[] = [];
  await page.route('**/api/keys', async (route) => {
    times.push(Number(await page.evaluate('Date.now()')));
    await route.fulfill({ status: 503, json: AWAY.body });
  });
  while (times.length < 4) await page.clock.runFor(500);
  const pauses = times.slice(1).map((at, index) => at - (times[index] ?? 0));
  for (const [index, pauseMs] of pauses.entries()) {
    assert.ok(pauseMs >= 1.5 * (pauses[index - 1] ?? 2_000), `${pauses}`);
  }
  await page.unroute('**/api/keys');
  pages.account.broken.clear();
  const loaded = page.getByText('There are no keys yet');
  for (let seconds = 0; seconds < 120 && !(await loaded.isVisible()); seconds += 1) {
    await page.clock.runFor(1_000);
  }
  assert.ok(await loaded.isVisible());
});

for (const [what, sign] of [
  ['the browser comes online', "dispatchEvent(new Event('online'))"],
  ['the tab is shown', "document.dispatchEvent(new Event('visibilitychange'))"],
] as const) {
  outage(`a page loads again at once when ${what}`, async (pages) => {
    await using opened = await openDuring(pages);
    pages.account.broken.clear();
    await opened.page.evaluate(sign);
    await opened.page.getByText('There are no keys yet').waitFor();
    assert.is(loadsOf(pages), 2);
  });
}

outage('a page does not repeat a load that was refused for another reason', async (pages) => {
  await using opened = await openDuring(pages);
  const { page } = opened;
  pages.account.broken.set('GET /api/keys', 500);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('The store is away.').waitFor();
  await page.clock.runFor(120_000);
  await page.evaluate("dispatchEvent(new Event('online'))");
  assert.is(loadsOf(pages), 2);
});

outage.run();
