import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { PASSWORD } from '#test/console/console-fixture';
import { browserSuite } from '#test/console/pages/fakes/browser-suite';
import { fillSample } from '#test/console/pages/fakes/sample-account';

// The focus fell to the body, so keyboard users started again at the top of the page.
const focus = browserSuite('the keyboard focus');

/** Label or text of the focused element. */
async function focused(page: Page): Promise<string> {
  const text = `(() => {
    const { activeElement: it } = document;
    return it.tagName + ' ' + (it.getAttribute('aria-label') ?? it.textContent);
  })()`;
  return String(await page.evaluate(text));
}

focus('moves to the next row when a member is removed, and then to a heading', async (pages) => {
  const owner = await pages.desk.owner();
  for (const name of ['bob', 'carol']) {
    await pages.desk.member(owner, `${name}@example.com`, 'viewer');
  }
  await using opened = await pages.open('/members', owner);
  const { page } = opened;
  const remove = async (email: string) => {
    await page.getByRole('button', { name: `Remove ${email}` }).click();
    await page.getByLabel('Type the email of the member').fill(email);
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).press('Enter');
    await page.getByRole('row', { name: new RegExp(email) }).waitFor({ state: 'detached' });
  };
  await remove('bob@example.com');
  assert.is(await focused(page), 'BUTTON Change role of carol@example.com');
  await remove('carol@example.com');
  assert.is(await focused(page), 'BUTTON Change role of ada@example.com');
  const invited = { email: 'vera@example.com', role: 'viewer' };
  await owner.expect(201, 'POST', '/members/invitations', invited);
  await page.reload();
  await page.getByRole('button', { name: 'Withdraw the invitation of vera@example.com' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).press('Enter');
  await page.getByText('No invitation is open').waitFor();
  assert.is(await focused(page), 'H2 Open invitations');
});

focus('returns to the button of the row after a change of role', async (pages) => {
  const owner = await pages.desk.owner();
  await pages.desk.member(owner, 'grace@example.com', 'viewer');
  await using opened = await pages.open('/members', owner);
  const { page } = opened;
  const change = page.getByRole('button', { name: 'Change role of grace@example.com' });
  await change.press('Enter');
  await page.getByRole('dialog').getByLabel('Role').selectOption('billing');
  await page.getByRole('dialog').getByRole('button', { name: 'Change the role' }).press('Enter');
  await page.getByRole('row', { name: /grace/ }).getByText('billing', { exact: true }).waitFor();
  assert.is(await focused(page), 'BUTTON Change role of grace@example.com');
});

focus('stays in a dialog whose form was refused', async (pages) => {
  await using opened = await pages.open('/members', await pages.desk.owner());
  const { page } = opened;
  await page.getByRole('button', { name: 'Change role of ada@example.com' }).press('Enter');
  await page.getByRole('dialog').getByLabel('Role').selectOption('viewer');
  await page.getByRole('dialog').getByRole('button', { name: 'Change the role' }).press('Enter');
  await page.getByRole('dialog').getByRole('alert').waitFor();
  assert.is(await focused(page), 'BUTTON Change the role');
});

focus('moves to the next row when a key is revoked or a session ends', async (pages) => {
  fillSample(pages.account);
  const owner = await pages.desk.owner();
  for (let n = 0; n < 2; n += 1) {
    await pages.desk.browser(`198.51.100.${n}`).signIn('ada@example.com', PASSWORD);
  }
  await using opened = await pages.open('/keys', owner);
  const { page } = opened;
  await page.getByRole('button', { name: 'Revoke notebook of Ada' }).press('Enter');
  await page.getByLabel('Type the name of the key').fill('notebook of Ada');
  await page.getByRole('button', { name: 'Revoke permanently' }).press('Enter');
  await page
    .getByRole('row', { name: /notebook of Ada/ })
    .getByText('revoked')
    .waitFor();
  assert.match(await focused(page), /^BUTTON Rename /);
  await page.goto(`${pages.origin}/security`);
  const end = page.getByRole('button', { name: /^End the session/ });
  await end.first().press('Enter');
  await end.nth(1).waitFor({ state: 'detached' });
  assert.match(await focused(page), /^BUTTON End the session/);
  await end.press('Enter');
  await end.waitFor({ state: 'detached' });
  assert.is(await focused(page), 'H2 Sessions');
});

focus.run();
