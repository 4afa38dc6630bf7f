import * as assert from 'uvu/assert';
import { PASSWORD, tokenIn } from '#test/console/console-fixture';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import { codeOf } from '#test/console/totp-code';

const signingIn = browserSuite('on the sign-in pages,');

signingIn(
  'the set-up link signs the first owner in, and its value is removed from the page',
  async (pages) => {
    const token = await pages.desk.setUpToken();
    await using opened = await pages.open(`/#/set-up/${token}`);
    const { page } = opened;
    await page.getByRole('heading', { name: 'Set up the console' }).waitFor();
    assert.is(page.url(), `${pages.origin}/`);
    await page.getByLabel('Email').fill('ada@example.com');
    await page.getByLabel('Your name').fill('Ada');
    await page.getByLabel('Password').fill('short');
    await page.getByRole('button', { name: 'Set up' }).click();
    await page
      .getByText(/must have at least 12 characters/i)
      .first()
      .waitFor();
    assert.is(await page.getByLabel('Password').getAttribute('aria-invalid'), 'true');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Set up' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.is(await page.title(), 'Overview · Identity Engine');
    const kept =
      'JSON.stringify([history.state, { ...localStorage }, { ...sessionStorage }, location.href])';
    assert.not.match(String(await page.evaluate(kept)), token);
    assertQuiet(opened, ['401 /api/me', '422 /api/setup']);
  },
);

signingIn('a used set-up link says so at once, and leads to the sign-in', async (pages) => {
  const token = await pages.desk.setUpToken();
  await pages.desk.owner();
  await using opened = await pages.open(`/#/set-up/${token}`);
  const { page } = opened;
  await page.getByRole('heading', { name: 'This link does not work' }).waitFor();
  await page.getByText('ctl users setup-link').waitFor();
  assert.is(await page.getByRole('textbox').count(), 0);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  assertQuiet(opened, ['401 /api/me', '404 /api/entry-link']);
});

signingIn('a withdrawn invitation names the next step', async (pages) => {
  const owner = await pages.desk.owner();
  const invited = { email: 'vera@example.com', role: 'viewer' };
  const { data } = await owner.expect(201, 'POST', '/members/invitations', invited);
  await owner.expect(204, 'DELETE', `/members/invitations/${data['id']}`);
  await using opened = await pages.open(`/#/invitation/${tokenIn(data['link'])}`);
  await opened.page.getByText('Ask an owner of the account for a new invitation').waitFor();
  assert.is(await opened.page.getByRole('textbox').count(), 0);
});

signingIn('an invitation names account, inviter, role and email before the form', async (pages) => {
  const owner = await pages.desk.owner();
  const invited = { email: 'vera@example.com', role: 'viewer' };
  const { data } = await owner.expect(201, 'POST', '/members/invitations', invited);
  await using opened = await pages.open(`/#/invitation/${tokenIn(data['link'])}`);
  const facts = await opened.page.locator('dl').innerText();
  for (const each of ['Account accountOfAda', 'Ada', 'viewer', 'vera@example.com']) {
    assert.ok(facts.includes(each), each);
  }
  assertQuiet(opened, ['401 /api/me']);
});

signingIn(
  'email and password lead to the requested page, and signing out leads back',
  async (pages) => {
    await pages.desk.owner();
    await using opened = await pages.open('/security');
    const { page } = opened;
    await page.getByLabel('Email').fill('ada@example.com');
    await page.getByLabel('Password').fill('not the password');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: 'email or password is wrong' }).waitFor();
    await page.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Security', exact: true }).waitFor();
    assert.is(page.url(), `${pages.origin}/security`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    assert.is(await page.getByText('Your session has ended').count(), 0);
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    assertQuiet(opened, ['401 /api/me', '401 /api/sign-in', '401 /api/me']);
  },
);

signingIn('an ended session leads to the sign-in, which returns to the page', async (pages) => {
  const owner = await pages.desk.owner();
  await using opened = await pages.open('/keys', owner);
  const { page } = opened;
  await page.getByText('There are no keys yet').waitFor();
  const other = pages.desk.browser();
  await other.signIn('ada@example.com', PASSWORD);
  await other.expect(204, 'DELETE', '/sessions');
  await page.getByRole('link', { name: 'Members' }).click();
  await page.getByText('Your session has ended').waitFor();
  await page.getByLabel('Email').fill('ada@example.com');
  await page.getByLabel('Password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Members' }).waitFor();
  assert.is(page.url(), `${pages.origin}/members`);
  assertQuiet(opened, ['401 /api/members']);
});

signingIn('a user with a second factor must enter a code, or a recovery code', async (pages) => {
  const owner = await pages.desk.owner();
  const { data } = await owner.expect(200, 'POST', '/second-factor', { password: PASSWORD });
  const secret = String(data['secret']);
  const code = codeOf(secret, pages.desk.clock.wallMs());
  const confirmed = await owner.expect(200, 'POST', '/second-factor/confirm', { code });
  const [recovery] = confirmed.data['recovery_codes'] as string[];
  await using opened = await pages.open('/');
  const { page } = opened;
  await page.getByLabel('Email').fill('ada@example.com');
  await page.getByLabel('Password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Second factor' }).waitFor();
  await page.getByLabel('Code').fill(code);
  await page.keyboard.press('Enter');
  await page.getByRole('alert').filter({ hasText: 'was already used' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Second factor' }).waitFor();
  await page.getByRole('button', { name: 'Use a recovery code' }).click();
  await page.getByLabel('Recovery code').fill(recovery ?? '');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  assertQuiet(opened, ['401 /api/me', '401 /api/sign-in/second-factor', '401 /api/me']);
});

signingIn('an invitation creates a member, who sees the pages of the role', async (pages) => {
  const owner = await pages.desk.owner();
  const invited = { email: 'vera@example.com', role: 'viewer' };
  const { data } = await owner.expect(201, 'POST', '/members/invitations', invited);
  await using opened = await pages.open(`/#/invitation/${tokenIn(data['link'])}`);
  const { page } = opened;
  await page.getByLabel('Your name').fill('Vera');
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Join' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  const entries = await page.getByRole('navigation').getByRole('link').allTextContents();
  assert.equal(entries, ['Fleet', 'Webhooks', 'Overview', 'API keys', 'Usage', 'Security']);
  await page.getByRole('link', { name: 'API keys' }).click();
  await page.getByText('There are no keys yet').waitFor();
  assert.is(await page.getByRole('button', { name: 'Create a key' }).count(), 0);
  await page.goto(`${pages.origin}/audit`);
  await page.getByRole('heading', { name: 'Your role does not allow this page' }).waitFor();
  assertQuiet(opened, ['401 /api/me']);
});

// Report 11: an invitation was accepted with a password alone, though the user had a second factor.
signingIn(
  'an invitation of a former member asks for the code of the second factor',
  async (pages) => {
    const { desk } = pages;
    const owner = await desk.owner();
    const vera = await desk.member(owner, 'vera@example.com', 'viewer');
    const { data } = await vera.expect(200, 'POST', '/second-factor', { password: PASSWORD });
    const secret = String(data['secret']);
    await vera.expect(200, 'POST', '/second-factor/confirm', {
      code: codeOf(secret, desk.clock.wallMs()),
    });
    const { data: me } = await vera.expect(200, 'GET', '/me');
    await owner.expect(200, 'DELETE', `/members/${(me['user'] as { id: string }).id}`);
    const invited = { email: 'vera@example.com', role: 'viewer' };
    const { data: again } = await owner.expect(201, 'POST', '/members/invitations', invited);
    await using opened = await pages.open(`/#/invitation/${tokenIn(again['link'])}`);
    const { page } = opened;
    await page.getByLabel('Your name').fill('Vera');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Join' }).click();
    const code = page.getByLabel('Code of your second factor');
    await code.waitFor();
    desk.clock.advance(30_000);
    await code.fill(codeOf(secret, desk.clock.wallMs()));
    await page.getByRole('button', { name: 'Join' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    assertQuiet(opened, ['401 /api/me', '401 /api/invitations/accept']);
  },
);

// Report 11: an email belongs to a user per account, so a sign-in names the account.
signingIn(
  'a browser that used a link remembers its account for the next sign-in',
  async (pages) => {
    const bob = await pages.desk.owner('bob@example.com', 'accountOfBob');
    const invited = { email: 'vera@example.com', role: 'viewer' };
    const { data } = await bob.expect(201, 'POST', '/members/invitations', invited);
    await using opened = await pages.open(`/#/invitation/${tokenIn(data['link'])}`);
    const { page } = opened;
    await page.getByLabel('Your name').fill('Vera');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Join' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Email').fill('vera@example.com');
    await page.getByLabel('Password').fill(PASSWORD);
    assert.is(await page.getByLabel('Account id').inputValue(), 'accountOfBob');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    assertQuiet(opened, ['401 /api/me']);
  },
);

// Report 11: invitations must not allow guessing passwords, so existing users join after a sign-in.
signingIn('a signed-in user joins another account by its invitation', async (pages) => {
  const bob = await pages.desk.owner('bob@example.com', 'accountOfBob');
  const ada = await pages.desk.owner();
  const invited = { email: 'bob@example.com', role: 'developer' };
  const { data } = await ada.expect(201, 'POST', '/members/invitations', invited);
  await using opened = await pages.open(`/#/invitation/${tokenIn(data['link'])}`, bob);
  const { page } = opened;
  await page.getByRole('button', { name: 'Join as bob@example.com' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  assert.is(await page.getByLabel('Account', { exact: true }).inputValue(), 'accountOfAda');
  assertQuiet(opened);
});

signingIn('a member of two accounts switches between them', async (pages) => {
  const bob = await pages.desk.owner('bob@example.com', 'accountOfBob');
  const ada = await pages.desk.owner();
  const invited = { email: 'bob@example.com', role: 'developer' };
  const { data } = await ada.expect(201, 'POST', '/members/invitations', invited);
  await bob.expect(201, 'POST', '/invitations/join', { token: tokenIn(data['link']) });
  await using opened = await pages.open('/security', bob);
  const { page } = opened;
  const choice = page.getByLabel('Account', { exact: true });
  await choice.waitFor();
  assert.is(await choice.inputValue(), 'accountOfAda');
  // A keyboard changes the value of a closed list with each key, so a choice alone does nothing.
  await choice.focus();
  await page.keyboard.press('ArrowDown');
  await choice.selectOption('accountOfBob');
  assert.is((await bob.expect(200, 'GET', '/me')).data['role'], 'developer');
  await page.getByRole('button', { name: 'Switch' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.getByRole('link', { name: 'Members' }).waitFor();
  assert.is(await choice.inputValue(), 'accountOfBob');
  assertQuiet(opened);
});

signingIn.run();
