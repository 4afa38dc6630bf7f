import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { faultsOf } from '#test/console/pages/fakes/axe';
import { type Hooks, hooksSuite } from '#test/console/pages/webhooks/hooks-suite';

const THEMES = ['light', 'dark'] as const;
const WIDTHS = [1280, 768, 390];

const accessible = hooksSuite('axe finds no violation, and nothing overflows, on');

/** Checks the present state of a page in all windows. */
async function check(page: Page, what: string): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    const reach = await page.evaluate(`
      Math.max(...[...document.querySelectorAll('main > *')].map((one) => one.getBoundingClientRect().right))`);
    assert.ok(Number(reach) <= width - 16, `${what}: ${reach} of ${width}`);
    for (const colorScheme of THEMES) {
      await page.emulateMedia({ colorScheme });
      assert.equal(await faultsOf(page), [], `${what}, ${colorScheme}, ${width}`);
    }
  }
}

/** An endpoint that fails, with failed changes. */
async function failingEndpoint({ endpoint, failChanges }: Hooks): Promise<string> {
  const id = await endpoint({ description: 'The chat service of the support desk' });
  await failChanges(id);
  return id;
}

accessible('the empty pages, and the form for a new endpoint', async ({ pages, owner }) => {
  await using opened = await pages.open('/webhooks', owner);
  const { page } = opened;
  await page.getByText('There are no endpoints yet').waitFor();
  await check(page, 'no endpoints');
  await page.goto(`${pages.origin}/webhooks/new`);
  await page.getByRole('heading', { name: 'Add an endpoint' }).waitFor();
  await check(page, 'new endpoint');
  await page.getByLabel('Address').fill('ftp://app.example/');
  await page.keyboard.press('Enter');
  await page.getByText('Must begin with https:// or http://').waitFor();
  await check(page, 'refused endpoint');
});

accessible('the list, the page of a failing endpoint, and its dialogs', async (hooks) => {
  const { pages, owner } = hooks;
  const id = await failingEndpoint(hooks);
  await using opened = await pages.open('/webhooks', owner);
  const { page } = opened;
  await page.getByText('The chat service of the support desk').waitFor();
  await check(page, 'list');
  await page.goto(`${pages.origin}/webhooks/${id}`);
  await page.getByRole('button', { name: 'Send a test event' }).click();
  await page.getByText('The test event failed').waitFor();
  const details = page.getByRole('button', { name: /^Details/ });
  await details.first().click();
  await page.locator('summary').click();
  await check(page, 'endpoint');
  for (const name of ['Change the settings …', 'Rotate the secret …', 'Delete …']) {
    await page.getByRole('button', { name }).click();
    await page.getByRole('dialog').waitFor();
    await check(page, name);
    await page.getByRole('button', { name: 'Cancel' }).click();
  }
  await page.getByRole('button', { name: 'Rotate the secret …' }).click();
  const host = await page.getByRole('dialog').locator('code').innerText();
  await page.getByLabel('Type the host of the address').fill(host);
  await page.getByRole('button', { name: 'Rotate', exact: true }).click();
  await page.getByRole('dialog', { name: 'Store this secret now' }).waitFor();
  await check(page, 'secret');
});

accessible('the event log', async (hooks) => {
  await failingEndpoint(hooks);
  await using opened = await hooks.pages.open('/webhooks/events', hooks.owner);
  const { page } = opened;
  await page.getByText('live', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Load older events' }).waitFor();
  await check(page, 'log');
});

accessible.run();
