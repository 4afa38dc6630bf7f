import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { PASSWORD } from '#test/console/console-fixture';
import { assertQuiet } from '#test/console/pages/browser-suite';
import { openPage } from '#test/console/pages/pages-fixture';
import { isChromiumMissing, launchChromium } from '#test/support/chromium';
import { runMain } from '#test/support/process-run';

const SIGNED_OUT = '401 /api/me';

const real = suite('the pages of a running service');

(isChromiumMissing ? real.skip : real)(
  'lead from the printed link to a key that works, and to the line that says so',
  async () => {
    await using closing = new AsyncDisposableStack();
    const run = runMain(['standalone'], { SERVICE_LOCAL_ACCOUNT: 'true' });
    closing.defer(() => void run.child.kill('SIGTERM'));
    await run.says(/Ctrl-C/);
    const [, origin = '', path = ''] =
      /Console {2}(http:\/\/[^/]+)(\/#\/set-up\/\S+)/.exec(run.stdout()) ?? [];
    const [, api = ''] = /API {6}(http:\S+\/v1)/.exec(run.stdout()) ?? [];
    const browser = await launchChromium();
    closing.defer(() => browser.close());
    await using opened = await openPage(browser, { origin, path, cookies: [], options: undefined });
    const { page } = opened;
    await page.getByLabel('Email').fill('ada@example.com');
    await page.getByLabel('Your name').fill('Ada');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Set up' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
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
    for (const action of ['key.disable', 'instance.create', 'key.create', 'account.set_up']) {
      await page
        .getByRole('row', { name: new RegExp(action.replace('.', '\\.')) })
        .first()
        .waitFor();
    }
    assert.is((await page.content()).includes(key), false);
    assertQuiet(opened, opened.refused.length === 0 ? [] : [SIGNED_OUT]);
    run.child.kill('SIGTERM');
    assert.is(await run.ended, 0, run.stderr());
    for (const secret of [key, PASSWORD]) assert.is(run.stderr().includes(secret), false);
  },
);

real.run();
