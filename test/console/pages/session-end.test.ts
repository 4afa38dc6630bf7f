import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { PASSWORD } from '#test/console/console-fixture';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import type { TestPages } from '#test/console/pages/fakes/pages-fixture';

const ending = browserSuite('when a session ends,');

/** Ends every session of Ada except a new session of another browser. */
async function endSessions({ desk }: TestPages): Promise<void> {
  const other = desk.browser();
  await other.signIn('ada@example.com', PASSWORD);
  await other.expect(204, 'DELETE', '/sessions');
}

async function signIn(page: Page, email: string): Promise<void> {
  await page.getByText('Your session has ended').waitFor();
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.keyboard.press('Enter');
}

const invite = async (page: Page): Promise<void> =>
  await page.getByRole('button', { name: 'Invite a member' }).click();

// The texts of a form were lost, so people typed long texts twice.
ending('typed texts return after the same user has signed in again', async (pages) => {
  await using opened = await pages.open('/members', await pages.desk.owner());
  const { page } = opened;
  await invite(page);
  await page.getByLabel('Email').fill('vera@example.com');
  await endSessions(pages);
  await page.getByRole('button', { name: 'Create the link' }).click();
  await signIn(page, 'ada@example.com');
  await invite(page);
  assert.is(await page.getByLabel('Email').inputValue(), 'vera@example.com');
  // The text survives a second end of the session too.
  await endSessions(pages);
  await page.getByRole('button', { name: 'Create the link' }).click();
  await signIn(page, 'ada@example.com');
  await invite(page);
  await page.getByRole('button', { name: 'Create the link' }).click();
  await page.getByLabel('Invitation link').waitFor();
  await page.getByRole('button', { name: 'I have sent it' }).click();
  await invite(page);
  assert.is(await page.getByLabel('Email').inputValue(), '', 'a sent text does not return');
  assertQuiet(opened, ['401 /api/members/invitations', '401 /api/members/invitations']);
});

ending('typed texts are not shown to another user', async (pages) => {
  const ada = await pages.desk.owner();
  await pages.desk.member(ada, 'grace@example.com', 'owner');
  await using opened = await pages.open('/members', ada);
  const { page } = opened;
  await invite(page);
  await page.getByLabel('Email').fill('vera@example.com');
  await endSessions(pages);
  await page.getByRole('button', { name: 'Create the link' }).click();
  await page.getByLabel('Account id').fill('accountOfAda');
  await signIn(page, 'grace@example.com');
  await invite(page);
  assert.is(await page.getByLabel('Email').inputValue(), '');
});

ending('passwords and typed confirmations are not kept', async (pages) => {
  const key = { id: 'key_1', name: 'ci', scope: 'full', status: 'active', masked: 'svc_sk_…xecY' };
  pages.account.keys = [{ ...key, created_at: '2026-01-15T12:00:00.000Z' }];
  await using opened = await pages.open('/security', await pages.desk.owner());
  const { page } = opened;
  await page.getByLabel('Current password').fill(PASSWORD);
  await page.getByLabel('New password').fill('something quite different');
  await endSessions(pages);
  await page.getByRole('button', { name: 'Change the password' }).click();
  await signIn(page, 'ada@example.com');
  await page.getByLabel('Current password').waitFor();
  assert.is(await page.getByLabel('Current password').inputValue(), '');
  await page.getByRole('link', { name: 'API keys' }).click();
  await page.getByRole('button', { name: 'Revoke ci' }).click();
  await page.getByLabel('Type the name of the key').fill('ci');
  await endSessions(pages);
  await page.getByRole('button', { name: 'Revoke permanently' }).click();
  await signIn(page, 'ada@example.com');
  await page.getByRole('button', { name: 'Revoke ci' }).click();
  assert.is(await page.getByLabel('Type the name of the key').inputValue(), '');
});

ending.run();
