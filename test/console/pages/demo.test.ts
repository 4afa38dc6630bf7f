import * as assert from 'uvu/assert';
import { PASSWORD } from '#test/console/console-fixture';
import { faultsOf } from '#test/console/pages/fakes/axe';
import { assertQuiet } from '#test/console/pages/fakes/browser-suite';
import { openPage } from '#test/console/pages/fakes/pages-fixture';
import { runMain } from '#test/support/process-run';
import { chromiumSuite, launchChromium } from '#test/support/servers/chromium';

const demo = chromiumSuite('the demonstration fleet of a running service');

demo('is loaded on the overview, shown with its past, and removed in the fleet', async () => {
  await using closing = new AsyncDisposableStack();
  const run = runMain(['standalone'], { SERVICE_LOCAL_ACCOUNT: 'true' });
  closing.defer(() => void run.child.kill('SIGTERM'));
  await run.says(/Ctrl-C/);
  const [, origin = '', path = ''] =
    /Console {2}(http:\/\/[^/]+)(\/#\/set-up\/\S+)/.exec(run.stdout()) ?? [];
  const browser = await launchChromium();
  closing.defer(() => browser.close());
  const opening = { origin, path, cookies: [], options: undefined };
  const opened = closing.use(await openPage(browser, opening));
  const { page } = opened;
  await page.getByLabel('Email').fill('ada@example.com');
  await page.getByLabel('Your name').fill('Ada');
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Set up' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();

  await page.getByText('Loading costs 1 request, 1,597 cycles').waitFor();
  await page.getByRole('button', { name: 'Load a demonstration' }).click();
  await page.waitForURL(/\/fleet$/);
  const notice = page.getByText('This fleet has 50 agents of a demonstration');
  await notice.waitFor();
  await page.getByRole('link', { name: 'demo: sample week 50' }).waitFor();
  await page.getByRole('link', { name: /^OVER 1\b/ }).waitFor();
  assert.equal(await faultsOf(page), []);

  await page.getByRole('button', { name: 'Remove the demonstration' }).click();
  await page.getByRole('dialog').getByText('all 50 agents').waitFor();
  await page.getByRole('button', { name: 'Remove 50 agents' }).click();
  await page.getByText('There are no instances yet').waitFor();
  await notice.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Load a demonstration' }).waitFor();
  assertQuiet(opened, opened.refused.length === 0 ? [] : ['401 /api/me']);
});

demo.run();
