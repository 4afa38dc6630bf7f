import * as assert from 'uvu/assert';
import { ACCOUNT_ID, PASSWORD, tokenIn } from '#test/console/console-fixture';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';

const members = browserSuite('the members page');

members('invites by a link that is shown once, and revokes an invitation', async (pages) => {
  await using opened = await pages.open('/members', await pages.desk.owner());
  const { page } = opened;
  await page.getByText('No invitation is open').waitFor();
  await page.getByRole('button', { name: 'Invite a member' }).click();
  await page.getByLabel('Email').fill('ada@example.com');
  await page.getByRole('button', { name: 'Create the link' }).click();
  await page.getByText('A member already has this email.').waitFor();
  await page.getByLabel('Email').fill('vera@example.com');
  await page.getByRole('dialog').getByLabel('Role').selectOption('viewer');
  await page.getByRole('button', { name: 'Create the link' }).click();
  const link = await page.getByLabel('Invitation link').inputValue();
  assert.match(link, /^http:\/\/127\.0\.0\.1:\d+\/#\/invitation\//);
  await page.getByRole('button', { name: 'I have sent it' }).click();
  const row = page.getByRole('row', { name: /vera@example\.com/ });
  assert.match(await row.innerText(), /viewer/);
  assert.not.match(await page.content(), tokenIn(link));
  await page.getByRole('button', { name: 'Withdraw the invitation of vera@example.com' }).click();
  await page.getByRole('button', { name: 'Withdraw', exact: true }).click();
  await page.getByText('No invitation is open').waitFor();
  assertQuiet(opened, ['409 /api/members/invitations']);
});

// Report 11: an arrow key on a closed role list granted the next role without confirmation.
members('changes roles and removes members, except the last owner', async (pages) => {
  const owner = await pages.desk.owner();
  await pages.desk.member(owner, 'grace@example.com', 'developer');
  await using opened = await pages.open('/members', owner);
  const { page } = opened;
  await page.getByRole('button', { name: 'Change role of grace@example.com' }).click();
  const dialog = page.getByRole('dialog');
  // An arrow key selects a role; only the button grants the role.
  await dialog.getByLabel('Role').focus();
  await page.keyboard.press('ArrowDown');
  await dialog.getByLabel('Role').selectOption('billing');
  const roleNow = async () => {
    const { data } = await owner.expect(200, 'GET', '/members');
    return (data['members'] as Record<string, unknown>[])[1]?.['role'];
  };
  assert.is(await roleNow(), 'developer');
  await dialog.getByRole('button', { name: 'Change the role' }).click();
  const row = page.getByRole('row', { name: /grace@example\.com/ });
  await row.getByText('billing', { exact: true }).waitFor();
  assert.is(await roleNow(), 'billing');
  await page.getByRole('button', { name: 'Change role of ada@example.com' }).click();
  await dialog.getByLabel('Role').selectOption('viewer');
  await dialog.getByRole('button', { name: 'Change the role' }).click();
  await dialog.getByRole('alert').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Remove grace@example.com' }).click();
  const remove = page.getByRole('button', { name: 'Remove', exact: true });
  assert.ok(await remove.isDisabled(), 'a removal needs a typed confirmation');
  await page.getByLabel('Type the email of the member').fill('grace@example.com');
  await remove.click();
  await page.getByRole('row', { name: /grace@example/ }).waitFor({ state: 'detached' });
  const { data } = await owner.expect(200, 'GET', '/members');
  assert.is((data['members'] as unknown[]).length, 1);
  assert.match(opened.refused.join(), /^409 \/api\/members\/usr_[0-9a-f]+$/);
  assert.equal(opened.complaints, []);
});

for (const [change, button, done] of [
  ['is removed', 'Remove grace@example.com', 'Remove'],
  ['loses rights', 'Change role of grace@example.com', 'Change the role'],
] as const) {
  // Report 10: a removed or demoted owner returned with an invitation, and keys were not listed.
  members(`lists the keys and invitations of an owner who ${change}`, async (pages) => {
    const ada = await pages.desk.owner();
    const grace = await pages.desk.member(ada, 'grace@example.com', 'owner');
    const invited = { email: 'friend@example.com', role: 'owner' };
    await grace.expect(201, 'POST', '/members/invitations', invited);
    await grace.expect(201, 'POST', '/keys', { name: 'hers', scope: 'full' });
    await using opened = await pages.open('/members', ada);
    const { page } = opened;
    const invitation = page.getByRole('row', { name: /friend@example\.com/ });
    assert.match(await invitation.innerText(), /by A Member/);
    await page.getByRole('button', { name: button }).click();
    const dialog = page.getByRole('dialog');
    const email = dialog.getByLabel('Type the email of the member');
    if (done === 'Remove') await email.fill('grace@example.com');
    else await dialog.getByLabel('Role').selectOption('viewer');
    await page.getByRole('button', { name: done, exact: true }).click();
    const left = page.getByRole('dialog', { name: 'Check the remaining keys' });
    await left.getByText('withdrawn: friend@example.com').waitFor();
    // A key is named by its masked value and its id, as on every page.
    const [key] = await left.getByRole('listitem').allTextContents();
    assert.match(key ?? '', /^herssvc_sk_…\w{4}key_[0-9a-f]+$/);
    await left.getByRole('button', { name: 'I have read this' }).click();
    await page.getByText('No invitation is open').waitFor();
    assert.is(await left.count(), 0);
    assertQuiet(opened);
  });
}

members('finds members of a long list by name, email or id', async (pages) => {
  const { desk } = pages;
  const owner = await desk.owner();
  for (let n = 0; n < 9; n += 1) await desk.member(owner, `m${n}@example.com`, 'viewer');
  await using opened = await pages.open('/members', owner);
  const { page } = opened;
  const rows = page.getByRole('table', { name: 'Members' }).locator('tbody tr');
  await rows.nth(9).waitFor();
  await page.getByLabel('Find a member').fill('M7@');
  await page.getByText('1 of 10 members').waitFor();
  assert.match(await rows.innerText(), /m7@example\.com/);
  assertQuiet(opened);
});

members('closes when its user becomes a developer', async (pages) => {
  const ada = await pages.desk.owner();
  await pages.desk.member(ada, 'grace@example.com', 'owner');
  await using opened = await pages.open('/members', ada);
  const { page } = opened;
  await page.getByRole('button', { name: 'Change role of ada@example.com' }).click();
  await page.getByRole('dialog').getByLabel('Role').selectOption('developer');
  await page.getByRole('dialog').getByRole('button', { name: 'Change the role' }).click();
  await page.getByRole('heading', { name: 'Your role does not allow this page' }).waitFor();
  assert.is(await page.getByRole('link', { name: 'Members' }).count(), 0);
  assert.equal(opened.complaints, []);
});

members('shows names and addresses as text, whatever their content', async (pages) => {
  const { desk } = pages;
  const owner = await desk.owner();
  const hostile = '<img src=x onerror=alert(1)>';
  const invited = { email: 'vera@example.com', role: 'viewer' };
  const { data } = await owner.expect(201, 'POST', '/members/invitations', invited);
  const body = { token: tokenIn(data['link']), password: PASSWORD, name: hostile };
  await desk.browser().expect(201, 'POST', '/invitations/accept', body);
  // No route accepts such an address, but the page must not rely on that.
  const times = { createdAtMs: desk.clock.wallMs(), expiresAtMs: desk.clock.wallMs() + 60_000 };
  const link = { kind: 'invitation', accountId: ACCOUNT_ID, digest: 'd'.repeat(43) } as const;
  const email = `${hostile}@example.com`;
  await desk.ports.members.addLink({ ...link, ...times, email, role: 'viewer' });
  await using opened = await pages.open('/members', owner);
  const { page } = opened;
  await page.getByRole('table', { name: 'Open invitations' }).waitFor();
  const texts = await page.locator('main th[scope=row]').allTextContents();
  assert.ok(texts.includes(`${hostile}@example.com`));
  assert.ok(texts.includes(`${hostile}vera@example.com`));
  assert.is(await page.locator('main img').count(), 0);
  await page.getByRole('button', { name: /^Withdraw the invitation/ }).click();
  assert.is(await page.getByRole('dialog').locator('strong').textContent(), email);
  assertQuiet(opened);
});

members.run();
