import * as assert from 'uvu/assert';
import { PASSWORD } from '#test/console/console-fixture';
import { assertQuiet } from '#test/console/pages/fakes/browser-suite';
import { openRealService } from '#test/console/pages/fakes/real-service';
import { chromiumSuite } from '#test/support/servers/chromium';

const SIGNED_OUT = '401 /api/me';

const real = chromiumSuite('the pages of a running service');

real('lead from the printed link to a working key, and to its audit line', async () => {
  await using closing = new AsyncDisposableStack();
  const { run, opened, page, api } = await openRealService(closing);
  await page.getByText('1,000,000,000').first().waitFor();

  await page.getByRole('link', { name: 'API keys' }).first().click();
  await page.getByRole('button', { name: 'Create a key' }).click();
  const dialog = page.getByRole('dialog', { name: 'Create a key' });
  await dialog.getByLabel('Name').fill('a <b>worker</b>');
  await dialog.getByRole('button', { name: 'Create' }).click();
  const shown = page.getByRole('dialog', { name: 'Store this key now' });
  const key = await shown.getByLabel('API key').inputValue();
  await shown.getByRole('button', { name: 'I have stored it' }).click();
  const row = page.getByRole('row', { name: /a <b>worker<\/b>/ });
  await row.waitFor();

  const asked = async () => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ name: 'Ada' });
    const answer = await fetch(`${api}/instances`, { method: 'POST', headers, body });
    return [answer.status, await answer.text()] as const;
  };
  assert.is((await asked())[0], 201);
  await row.getByRole('button', { name: /^Disable/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
  await page.getByRole('row', { name: /worker.*disabled/ }).waitFor();
  assert.is((await asked())[0], 401);

  await page.getByRole('link', { name: 'Audit' }).first().click();
  for (const action of [
    /disabled the key a <b>worker<\/b>/,
    // A write to an instance counts as done after 20 s.
    /(?:created|began to create) the instance Ada/,
    /created the key a <b>worker<\/b>/,
    /set up the console/,
  ]) {
    await page.getByRole('row', { name: action }).first().waitFor();
  }
  assert.is((await page.content()).includes(key), false);
  assertQuiet(opened, opened.refused.length === 0 ? [] : [SIGNED_OUT]);
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0, run.stderr());
  for (const secret of [key, PASSWORD]) assert.is(run.stderr().includes(secret), false);
});

real('create instances from personas, find them and compare two', async () => {
  await using closing = new AsyncDisposableStack();
  const { opened, page, origin } = await openRealService(closing);
  await page.getByRole('link', { name: 'Fleet', exact: true }).click();
  await page.getByText('There are no instances yet').waitFor();
  for (const [name, persona] of [
    ['Ada', 'The Analyst'],
    ['Bob', 'The Explorer'],
    ['Anna', 'The Leader'],
  ] as const) {
    await page.goto(`${origin}/instances/new`);
    await page.getByLabel('Name', { exact: true }).fill(name);
    await page.getByRole('radio', { name: persona }).check();
    await page.getByRole('button', { name: 'Create the instance' }).click();
    await page.waitForURL(/\/instances\/inst_[0-9a-f]{16}$/);
  }
  await page.getByRole('link', { name: 'Fleet', exact: true }).click();
  await page.getByText('3 instances', { exact: true }).waitFor();
  await page.getByLabel('Search').fill('a');
  await page.getByText('2 selected').waitFor();
  await page.getByRole('checkbox', { name: 'Select Ada' }).check();
  await page.getByLabel('Search').fill('BOB');
  await page.getByText('1 selected').waitFor();
  await page.getByRole('checkbox', { name: 'Select Bob' }).check();
  await page.getByRole('link', { name: 'Compare' }).click();
  await page
    .getByRole('img', { name: /^Modes of Ada and Bob\. .*Exploration \(\+60 points\)/ })
    .waitFor();
  const state = await page.locator('section', { hasText: 'State and style' }).innerText();
  for (const text of ['Not observed yet', 'LOW', '80 %', 'Perception, Order']) {
    assert.ok(state.includes(text), `${text}: ${state}`);
  }
  assertQuiet(opened, opened.refused.length === 0 ? [] : [SIGNED_OUT]);
});

real.run();
