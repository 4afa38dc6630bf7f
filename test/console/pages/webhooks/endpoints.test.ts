import type { Page } from 'playwright-core';
import { Webhook } from 'standardwebhooks';
import * as assert from 'uvu/assert';
import { assertQuiet } from '#test/console/pages/fakes/browser-suite';
import { type Hooks, hooksSuite } from '#test/console/pages/webhooks/hooks-suite';
import { until } from '#test/console/webhook-receiver';

/** Script that returns the document and everything that the page stores. */
const KEPT = `JSON.stringify([
  document.documentElement.outerHTML, [...document.querySelectorAll('input, textarea')].map((one) => one.value),
  history.state, { ...localStorage }, { ...sessionStorage }, location.href, document.cookie,
])`;

const FOCUSED = 'document.activeElement.textContent';

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });

/** Opens the page of a new endpoint. */
async function openEndpoint(hooks: Hooks, settings: Record<string, unknown> = {}) {
  const id = await hooks.endpoint(settings);
  const opened = await hooks.pages.open(`/webhooks/${id}`, hooks.owner);
  await button(opened.page, 'Send a test event').waitFor();
  return { ...opened, id };
}

const create = hooksSuite('a new endpoint');

create('is created from an empty list, and its secret is shown once', async (hooks) => {
  const { pages, owner, receiver } = hooks;
  await using opened = await pages.open('/webhooks', owner);
  const { page } = opened;
  await page.getByText('There are no endpoints yet').waitFor();
  await page.getByRole('link', { name: 'Add an endpoint' }).first().click();
  await page.getByLabel('Address').fill('ftp://app.example/');
  await page.getByRole('textbox', { name: /^Description/ }).fill('the chat service');
  await page.getByRole('checkbox', { name: /^Stress changed/ }).uncheck();
  await button(page, 'Add the endpoint').click();
  await page.getByText('Must begin with https:// or http://').waitFor();
  await page.getByLabel('Address').fill(receiver.url);
  await button(page, 'Add the endpoint').click();
  const shown = page.getByRole('dialog', { name: 'Store this secret now' });
  const secret = await shown.getByLabel('Secret of the endpoint').inputValue();
  assert.match(secret, /^whsec_/);
  await page.keyboard.press('Escape');
  assert.ok(await shown.isVisible(), 'Escape keeps the dialog open');
  await button(page, 'I have stored it').click();
  await page.getByRole('heading', { name: '127.0.0.1', exact: false }).waitFor();
  await page.getByText('the chat service').waitFor();
  assert.not.match(String(await page.evaluate(KEPT)), secret);
  await hooks.instance();
  await until(pages.desk, () => receiver.received.length > 0);
  const [message] = receiver.received;
  new Webhook(secret).verify(message?.body ?? '', message?.headers ?? {});
  const { body } = await owner.expect(200, 'GET', '/webhooks');
  assert.is(body.data[0].event_types.includes('stress_changed'), false);
  assertQuiet(opened, ['422 /api/webhooks']);
});

create('needs at least one type of event', async ({ pages, owner, receiver }) => {
  await using opened = await pages.open('/webhooks/new', owner);
  const { page } = opened;
  await page.getByLabel('Address').fill(receiver.url);
  for (const box of await page.getByRole('checkbox').all()) await box.uncheck();
  await page.keyboard.press('Tab');
  await button(page, 'Add the endpoint').press('Enter');
  await page.getByText('Select at least one type.').waitFor();
  assertQuiet(opened, ['422 /api/webhooks']);
});

const deliveries = hooksSuite('the page of an endpoint');

deliveries('shows request and response of each attempt, as text', async (hooks) => {
  const { receiver } = hooks;
  receiver.answerWith(500);
  await using opened = await openEndpoint(hooks);
  const { page, id } = opened;
  await hooks.instance();
  await hooks.untilAttempts(id, 1);
  await button(page, 'Refresh').click();
  await page.getByText('failing', { exact: true }).waitFor();
  const row = page.getByRole('row', { name: new RegExp(`${id}-0`) });
  await row.getByText('status 500').waitFor();
  await row.getByRole('button', { name: /^Details/ }).click();
  const response = page.locator('.exchange .response');
  await response.getByText('<b>status 500</b>: no database').waitFor();
  assert.match(await response.innerText(), /Status 500 · text\/html/);
  assert.is(await page.locator('main b').count(), 0, 'the answer is no markup');
  const request = await page.locator('.exchange .request').innerText();
  assert.match(request, /"type": "created"/);
  assertQuiet(opened);
});

deliveries('shows the outcome of a test event: accepted, refused, and too slow', async (hooks) => {
  await using opened = await openEndpoint(hooks);
  const { page } = opened;
  const outcomes = [
    [200, /accepted the test event/],
    [500, /failed after .* Status 500\./],
    ['slow', /No answer within 10 seconds\. Answer first/],
  ] as const;
  for (const [answer, text] of outcomes) {
    hooks.receiver.answerWith(answer);
    await button(page, 'Send a test event').click();
    await page.getByRole('status').filter({ hasText: text }).waitFor();
    assert.is(await page.evaluate(FOCUSED), 'Send a test event');
  }
  await page.getByText('The receiver did not answer.').waitFor();
  assert.is(hooks.receiver.received.length, 3);
  assertQuiet(opened);
});

deliveries('sends one change again, and all failed changes', async (hooks) => {
  const { pages, owner, receiver } = hooks;
  await using opened = await openEndpoint(hooks);
  const { page, id } = opened;
  await hooks.failChanges(id);
  receiver.answerWith(200);
  await button(page, 'Refresh').click();
  await page.getByText('More than 50 changes of the instance waited.').first().waitFor();
  const before = receiver.received.length;
  await button(page, 'Send again: change 0').click();
  await page.getByText('1 change will be sent again.').waitFor();
  assert.is(await page.evaluate(FOCUSED), 'Deliveries', 'the row of the change is gone');
  await until(pages.desk, () => receiver.received.length > before);
  await button(page, /^Send all \d+ again/).click();
  await page.getByRole('heading', { name: 'Failed changes' }).waitFor({ state: 'detached' });
  await until(pages.desk, async () => {
    const { data } = await owner.expect(200, 'GET', `/webhooks/${id}`);
    return data['changes_behind'] === 0 && data['changes_failed'] === 0;
  });
  assertQuiet(opened);
});

deliveries('pauses with an undo, and resumes', async (hooks) => {
  await using opened = await openEndpoint(hooks);
  const { page } = opened;
  await button(page, 'Pause').click();
  await page.getByText('The endpoint is paused.').waitFor();
  await page.getByText('paused', { exact: true }).waitFor();
  await page.getByText('Nothing is sent until you resume the endpoint.').waitFor();
  await button(page, 'Undo').click();
  await page.getByText('active', { exact: true }).waitFor();
  await button(page, 'Pause').click();
  await button(page, 'Resume').click();
  await page.getByText('active', { exact: true }).waitFor();
  assert.is(await page.evaluate(FOCUSED), 'Pause');
  assertQuiet(opened);
});

deliveries('changes the settings, and rotates the secret with an overlap', async (hooks) => {
  const { pages, receiver } = hooks;
  await using opened = await openEndpoint(hooks);
  const { page } = opened;
  await button(page, 'Change the settings').click();
  await page.getByRole('textbox', { name: /^Description/ }).fill('ours');
  await page.getByRole('checkbox', { name: /^Leading mode changed/ }).check();
  await page.getByLabel('Changes per message').fill('10');
  await button(page, 'Save').click();
  await page.getByText('up to 10').waitFor();
  await page.getByText('Stress changed, Leading mode changed').waitFor();
  await button(page, 'Rotate the secret').click();
  const host = await page.getByRole('dialog').locator('code').innerText();
  await page.getByLabel('Type the host of the address').fill(host);
  await button(page, /^Rotate$/).click();
  const secret = await page.getByLabel('Secret of the endpoint').inputValue();
  await button(page, 'I have stored it').click();
  await page.getByText('messages also have a signature of the old secret').waitFor();
  await hooks.instance();
  await until(pages.desk, () => receiver.received.length > 0);
  const [message] = receiver.received;
  new Webhook(secret).verify(message?.body ?? '', message?.headers ?? {});
  assert.is(message?.headers['webhook-signature']?.split(' ').length, 2);
  assert.not.match(String(await page.evaluate(KEPT)), secret);
  assertQuiet(opened);
});

deliveries('deletes only an endpoint whose host was typed', async (hooks) => {
  await using opened = await openEndpoint(hooks);
  const { page } = opened;
  await button(page, 'Delete …').click();
  const confirm = button(page, 'Delete permanently');
  await page.getByLabel('Type the host of the address').fill('127.0.0.1');
  assert.ok(await confirm.isDisabled());
  await page.getByLabel('Type the host of the address').fill(new URL(hooks.receiver.url).host);
  await confirm.click();
  await page.getByText('There are no endpoints yet').waitFor();
  assertQuiet(opened);
});

// A page that is left open must not use up the requests of a free plan.
deliveries(
  'loads itself every minute with two requests, which do not extend the session',
  async (hooks) => {
    const id = await hooks.endpoint();
    await using opened = await hooks.pages.open('/webhooks', hooks.owner);
    const { page } = opened;
    await page.clock.install();
    const sent: (string | undefined)[] = [];
    page.on('request', (request) => {
      if (/\/api\/webhooks\/whk_/.test(request.url())) sent.push(request.headers()['x-unattended']);
    });
    await page.getByRole('link', { name: hooks.receiver.url }).click();
    await button(page, 'Send a test event').waitFor();
    assert.equal(sent, [undefined, undefined]);
    await hooks.instance();
    await hooks.untilAttempts(id, 1);
    await page.clock.runFor(61_000);
    await page.getByText('delivered · 200').waitFor();
    assert.equal(sent.slice(2), ['true', 'true']);
    assertQuiet(opened);
  },
);

const roles = hooksSuite('a viewer');

roles('sees endpoints and deliveries, and no button that changes them', async (hooks) => {
  const { pages, owner } = hooks;
  const id = await hooks.endpoint();
  await hooks.instance();
  await hooks.untilAttempts(id, 1);
  const viewer = await pages.desk.member(owner, 'vera@example.com', 'viewer');
  await using opened = await pages.open('/webhooks', viewer);
  const { page } = opened;
  await page.getByRole('link', { name: hooks.receiver.url }).click();
  await page.getByText('delivered · 200').waitFor();
  const names = await page.locator('main').getByRole('button').allTextContents();
  assert.equal(names, ['Refresh', 'Copy', 'Details']);
  await page.goto(`${pages.origin}/webhooks/new`);
  await page.getByText('Your role does not allow this page').first().waitFor();
  assertQuiet(opened);
});

for (const group of [create, deliveries, roles]) group.run();
