import * as assert from 'uvu/assert';
import { PASSWORD } from '#test/console/console-fixture';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import { codeOf } from '#test/console/totp-code';

const security = browserSuite('the security page');

const NEXT = 'something quite different';

security('changes the password, and keeps this session', async (pages) => {
  await using opened = await pages.open('/security', await pages.desk.owner());
  const { page } = opened;
  const change = page.getByRole('button', { name: 'Change the password' });
  await page.getByLabel('Current password').fill('wrong');
  await page.getByLabel('New password').fill(NEXT);
  await change.click();
  await page.getByText('The password is wrong.').waitFor();
  await page.getByLabel('Current password').fill(PASSWORD);
  await page.getByLabel('New password').fill('password1234');
  await change.click();
  await page.locator('[name=new_password][aria-invalid]').waitFor();
  await page.getByLabel('New password').fill(NEXT);
  await change.click();
  await page.getByText('The password was changed.').waitFor();
  assert.is(await page.getByLabel('New password').inputValue(), '');
  assert.is((await pages.desk.browser().signIn('ada@example.com', NEXT)).status, 200);
  assertQuiet(opened, ['403 /api/password', '422 /api/password']);
});

security(
  'enables an authenticator, shows codes once, creates new codes, and disables it',
  async (pages) => {
    await using opened = await pages.open('/security', await pages.desk.owner());
    const { page } = opened;
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Set up an authenticator' }).click();
    await dialog.getByLabel('Your password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await dialog.getByRole('img', { name: 'QR code for an authenticator' }).waitFor();
    const secret = ((await dialog.locator('.secret').first().textContent()) ?? '').replaceAll(
      ' ',
      '',
    );
    assert.match((await dialog.locator('details code').textContent()) ?? '', /^otpauth:\/\/totp\//);
    assert.is(
      await page.evaluate('document.activeElement.name'),
      'code',
      'the field has the focus',
    );
    await dialog.getByLabel('Current six digits').fill('000000');
    await page.keyboard.press('Enter');
    await dialog.getByText('This code is wrong').waitFor();
    await dialog.getByLabel('Current six digits').fill(codeOf(secret, pages.desk.clock.wallMs()));
    await page.keyboard.press('Enter');
    const codes = (await dialog.getByLabel('Recovery codes').inputValue()).split('\n');
    assert.is(codes.length, 10);
    await dialog.getByRole('button', { name: 'I have stored them' }).click();
    await page.getByText('10 recovery codes left').waitFor();
    for (const each of [secret, ...codes]) assert.not.ok((await page.content()).includes(each));
    await page.getByRole('button', { name: 'Make new recovery codes' }).click();
    await dialog.getByLabel('Your password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    assert.not.ok(
      (await dialog.getByLabel('Recovery codes').inputValue()).includes(codes[0] ?? ''),
    );
    await dialog.getByRole('button', { name: 'I have stored them' }).click();
    await page.getByRole('button', { name: 'Disable' }).click();
    await dialog.getByLabel('Your password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Set up an authenticator' }).waitFor();
    assertQuiet(opened, ['401 /api/second-factor/confirm']);
  },
);

security('lists sessions, ends one of them, and ends all others', async (pages) => {
  const owner = await pages.desk.owner();
  const others = ['198.51.100.8', '198.51.100.9', '198.51.100.10'].map(pages.desk.browser);
  for (const each of others) await each.signIn('ada@example.com', PASSWORD);
  await using opened = await pages.open('/security', owner);
  const { page } = opened;
  const rows = page.getByRole('table', { name: 'Sessions' }).locator('tbody tr');
  await rows.nth(3).waitFor();
  assert.is(await page.getByText('this session').count(), 1);
  await page.getByRole('button', { name: /198\.51\.100\.9$/ }).click();
  await page.getByText('198.51.100.9', { exact: true }).waitFor({ state: 'detached' });
  assert.is((await others[1]?.send('GET', '/me'))?.status, 401);
  await page.getByRole('button', { name: 'End all others' }).click();
  await rows.nth(1).waitFor({ state: 'detached' });
  assert.is((await others[0]?.send('GET', '/me'))?.status, 401);
  assertQuiet(opened);
});

security.run();
