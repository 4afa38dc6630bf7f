import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { faultsOf } from '#test/console/pages/fakes/axe';
import { assertQuiet } from '#test/console/pages/fakes/browser-suite';
import { openRealService } from '#test/console/pages/fakes/real-service';
import { smallPng } from '#test/console/pages/fakes/small-png';
import { chromiumSuite } from '#test/support/servers/chromium';

/*
 * A walk through the console of a running service, from the first sign-in to the audit trail.
 * PICTURES=docs/console writes the pictures of the documents.
 */

const SIGNED_OUT = '401 /api/me';

/** Windows in which axe checks every stop of the walk. */
const WINDOWS = [390, 768, 1_280].flatMap((width) =>
  (['dark', 'light'] as const).map((colorScheme) => ({ width, colorScheme })),
);

const folder = process.env['PICTURES'];

/** Checks the present page, and takes its picture if pictures are wanted. */
async function stop(page: Page, name: string): Promise<void> {
  for (const { width, colorScheme } of WINDOWS) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    assert.equal(await faultsOf(page), [], `${name}, ${width}, ${colorScheme}`);
  }
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  // Until fonts, charts and counts of the last window size are drawn.
  await page.evaluate('new Promise((done) => setTimeout(done, 500))');
  writeFileSync(join(folder, `${name}-1280-light.png`), smallPng(await page.screenshot()));
}

const walk = chromiumSuite('a walk through the console');

walk(
  'shows the first steps, a fleet, an agent and its past, webhooks and the audit trail',
  async () => {
    await using closing = new AsyncDisposableStack();
    const { opened, page, origin, api, send } = await openRealService(closing);

    // The first five minutes.
    await page.getByText('Next: make the first call.').waitFor();
    await page.getByText(api, { exact: true }).waitFor();
    await stop(page, 'overview');
    await send('GET', '/account');
    await page.getByText('Next: create an instance.').waitFor();
    await page.getByRole('button', { name: 'Load a demonstration' }).click();

    // The fleet.
    await page.getByRole('heading', { name: 'Fleet', exact: true }).waitFor();
    await page.getByText('50 instances', { exact: true }).waitFor();
    await page.getByRole('link', { name: /^demo: sample week 50/ }).waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await stop(page, 'fleet');
    await page.getByRole('link', { name: /^OVER \d+ / }).click();
    await page.getByText(/^[1-9]\d* selected$/).waitFor();
    await page.locator('.row-name').first().click();

    // An agent, what it may do, and its past.
    await page.getByRole('heading', { name: 'Contract' }).waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    await stop(page, 'instance');
    const tab = (name: string) => page.getByRole('main').getByRole('link', { name, exact: true });
    await tab('Course').click();
    await page.getByRole('button', { name: 'Zoom in' }).waitFor();
    await page.getByText(/ observations, \d+ drift events/).waitFor();
    await stop(page, 'course');
    await tab('Connect').click();
    await page.getByText(`${api}/instances/`).first().waitFor();
    await stop(page, 'connect');

    // Webhooks and the log.
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor();
    await page.goto(`${origin}/webhooks/events`);
    await page.getByText('stress', { exact: false }).first().waitFor();
    await stop(page, 'events');

    // Habits: the palette leads to the audit trail, which names people.
    await page.keyboard.press('Control+K');
    await page.getByRole('dialog').getByRole('combobox').fill('audit');
    await page.locator('[role=option][data-highlighted]').filter({ hasText: 'Audit' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Audit trail' }).waitFor();
    await page.getByText('Ada', { exact: true }).first().waitFor();
    await stop(page, 'audit');
    assertQuiet(opened, opened.refused.length === 0 ? [] : [SIGNED_OUT]);
  },
);

walk.run();
