import type { Route } from 'playwright-core';
import * as assert from 'uvu/assert';
import { levelText } from '#pages/parts/format';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import { FakeBackend } from '#test/console/pages/fakes/fake-backend';
import type { TestPages } from '#test/console/pages/fakes/pages-fixture';
import { ANALYST, CALM, openLive, untilCycle, WILD } from '#test/console/pages/instance/live-page';

const bodiesOf = (pages: TestPages, route: string) =>
  pages.account.sent.filter((each) => each.route === route).map(({ body }) => body);

const observing = browserSuite('an observation from the page');

observing('is sent as shown in the form, and displayed with its answer', async (pages) => {
  await using opened = await openLive(pages, undefined, 'try');
  const { page } = opened;
  const panel = page.getByRole('region', { name: 'Send an observation' });
  await panel.getByLabel('Mode').selectOption('Connection');
  await panel.getByLabel('Signal').fill('0.25');
  await panel.getByLabel('Confidence').fill('');
  await panel.getByLabel('Context').fill('{"turn": 3, "it\'s": null}');
  await panel.getByLabel('Time').fill('2026-01-15T13:00:05');
  await panel.getByRole('button', { name: 'Send, for 1 cycle' }).click();
  await panel.getByText('Cycle 1:').waitFor();
  await untilCycle(page, 1);
  const sent = {
    ...{ mode_target: 'CONNECTION', signal_strength: 0.25, context: { turn: 3, "it's": null } },
    timestamp: '2026-01-15T12:00:05.000Z',
  };
  assert.equal(bodiesOf(pages, 'POST /api/instances/:id/process'), [sent]);
  const code = panel.getByRole('region', { name: 'Code' });
  const shown = await code.locator('pre').innerText();
  assert.match(shown, /^curl -X POST https:\/\/YOUR-HOST\/v1\/instances\/inst_0+1\/process/);
  assert.match(shown, /"Authorization: Bearer YOUR_API_KEY"/);
  assert.match(shown, /"it'\\''s":null/);
  await code.getByRole('button', { name: 'Python' }).click();
  await code.getByText('"it\'s": None').waitFor();
  await code.getByRole('button', { name: 'TypeScript' }).click();
  await code.getByText("await fetch('https://YOUR-HOST/v1").waitFor();
  assertQuiet(opened);
});

observing('is applied once if it is sent again after a lost answer', async (pages) => {
  await using opened = await openLive(pages, undefined, 'try');
  const { page, backend } = opened;
  const send = page.getByRole('button', { name: 'Send, for 1 cycle' });
  const lose = async (route: Route) => {
    await route.fetch();
    await route.abort();
  };
  await page.route('**/process', lose, { times: 1 });
  await send.click();
  await page.getByText('The console does not answer', { exact: false }).waitFor();
  await send.click();
  await page.getByText('Cycle 1:').waitFor();
  assert.is(backend.rows.length, 1);
  await send.click();
  await page.getByText('Cycle 2:').waitFor();
  assert.is(backend.rows.length, 2, 'the next observation is applied separately');
});

observing('is reported as throttled if the service throttles it', async (pages) => {
  await using opened = await openLive(pages, undefined, 'try');
  const { page, backend } = opened;
  backend.isThrottling = true;
  await page.getByRole('button', { name: 'Send, for 1 cycle' }).click();
  await page.getByText(/^Throttled: .* Nothing changed.* Send the next in 1 second\.$/).waitFor();
  backend.isThrottling = false;
  await page.getByRole('button', { name: 'Send, for 1 cycle' }).click();
  await page.getByText('Cycle 1:').waitFor();
  assert.is(await page.getByText('Throttled').count(), 0);
  assertQuiet(opened);
});

observing('is neither sent nor shown as code if its context is not an object', async (pages) => {
  await using opened = await openLive(pages, undefined, 'try');
  const { page } = opened;
  await page.getByLabel('Context').fill('[1, 2]');
  await page.getByText('Fill in valid fields to see the code.').waitFor();
  await page.getByRole('button', { name: 'Send, for 1 cycle' }).click();
  await page.getByText('Must be a JSON object').waitFor();
  assert.equal(bodiesOf(pages, 'POST /api/instances/:id/process'), []);
  assertQuiet(opened);
});

observing('that is refused is shown with the reason at its field', async (pages) => {
  await using opened = await openLive(pages, undefined, 'try');
  const { page } = opened;
  const details = { field: 'timestamp', reason: 'timestamp_in_future' };
  const body = { error: 'invalid_request', message: 'at most 300 s ahead', details };
  pages.account.broken.set('POST /api/instances/:id/process', { status: 422, body });
  await page.getByRole('button', { name: 'Send, for 1 cycle' }).click();
  await page.getByText('At most 300 s ahead.').waitFor();
});

const simulating = browserSuite('a simulation from the page');

simulating('is shown step by step, without changing the instance', async (pages) => {
  await using opened = await openLive(pages, undefined, 'try');
  const { page, backend } = opened;
  backend.observe(CALM);
  await untilCycle(page, 1);
  const before = JSON.stringify(backend.report);
  const panel = page.getByRole('region', { name: 'What if' });
  const add = panel.getByRole('button', { name: 'Add an observation' });
  for (let count = 1; count < 20; count += 1) await add.click();
  assert.ok(await add.isDisabled(), 'twenty is the maximum');
  await panel.getByRole('button', { name: 'Remove observation 20' }).click();
  await panel.getByLabel('Mode of observation 2').selectOption('Stress response');
  await panel.getByLabel('Signal of observation 2').fill('1');
  await panel.getByRole('button', { name: 'Try it on a copy' }).click();
  await panel.getByText('19 observations applied to a copy.').waitFor();
  await panel.getByText('The instance did not change.').waitFor();
  const [body] = bodiesOf(pages, 'POST /api/instances/:id/simulate') as [
    { observations: object[] },
  ];
  assert.is(body.observations.length, 19);
  assert.equal(body.observations[1], {
    ...{ mode_target: 'STRESS_RESPONSE', signal_strength: 1, confidence: 1 },
  });
  await panel.getByRole('region', { name: 'Drift of the copy at step 19' }).waitFor();
  await panel.getByText('Show the numbers').click();
  const table = panel.getByRole('table', { name: /^Modes, energy and stability of the copy/ });
  await table.waitFor();
  assert.is(await table.getByRole('row').count(), 20);
  await panel.getByRole('toolbar', { name: 'Drift marks' }).getByRole('button').first().click();
  await panel.getByRole('region', { name: /^Drift of the copy at step \d$/ }).waitFor();
  assert.is(JSON.stringify(backend.report), before);
  await untilCycle(page, 1);
  assertQuiet(opened);
});

simulating('starts from the current state even if the page shows an older state', async (pages) => {
  await using opened = await openLive(pages, undefined, 'try');
  const { page, backend } = opened;
  await page.getByRole('button', { name: 'Pause' }).click();
  for (let count = 0; count < 5; count += 1) backend.observe(WILD);
  // The next stream starts after the newest event, so all events have arrived.
  backend.cut();
  await backend.untilOpened(2);
  assert.is(backend.opened[1], '5');
  const panel = page.getByRole('region', { name: 'What if' });
  await panel.getByRole('button', { name: 'Try it on a copy' }).click();
  await panel.getByText('1 observation applied to a copy.').waitFor();
  await panel.getByText('Show the numbers').click();
  const table = panel.getByRole('table', { name: /^Modes, energy and stability of the copy/ });
  const before = await table.getByRole('row').nth(1).innerText();
  const assertion = levelText(backend.report.snapshot.mode_strengths.assertion);
  assert.not.equal(assertion, levelText(ANALYST[3] ?? 0));
  assert.ok(before.split(/\s{2,}|\n|\t/).includes(assertion), `${before}, ${assertion}`);
  await untilCycle(page, 0);
  assertQuiet(opened);
});

/** The element that scrolls the history. */
const BOX = `document.querySelector('.scrolled')`;

const history = browserSuite('the history of an instance');

history(
  'of a million observations scrolls to its end with few rows and requests',
  async (pages) => {
    const backend = new FakeBackend(pages.account, 'Ada', ANALYST);
    backend.madeUp = 1_000_000;
    await using opened = await openLive(pages, backend, 'history');
    const { page } = opened;
    const asked = () => bodiesOf(pages, 'GET /api/instances/:id/history').length;
    const box = page.getByRole('region', { name: 'Rows of the history' });
    await box.getByRole('row', { name: /^1,000,000 / }).waitFor();
    const table = box.getByRole('table');
    assert.is(await table.getAttribute('aria-rowcount'), '1000001');
    const before = asked();
    await page.evaluate(`${BOX}.scrollTop = ${BOX}.scrollHeight`);
    const last = box.getByRole('row', { name: /^1 .* Context of cycle 1: / });
    await last.waitFor();
    assert.is(await last.getAttribute('aria-rowindex'), '1000001');
    assert.ok((await table.getByRole('row').count()) < 50, 'only visible rows');
    assert.ok(asked() - before <= 2, `${asked() - before} requests`);
    await page.evaluate(`${BOX}.scrollTop = ${BOX}.scrollHeight / 2`);
    await box
      .getByRole('row', { name: /^50\d,\d{3} |^49\d,\d{3} / })
      .first()
      .waitFor();
    assert.ok(asked() - before <= 4, `${asked() - before} requests`);
    assertQuiet(opened);
  },
);

history('scrolls row by row with the keyboard', async (pages) => {
  const backend = new FakeBackend(pages.account, 'Ada', ANALYST);
  backend.madeUp = 1_000_000;
  await using opened = await openLive(pages, backend, 'history');
  const { page } = opened;
  const box = page.getByRole('region', { name: 'Rows of the history' });
  const rows = page.getByText(/^Rows /);
  await box.getByRole('row', { name: /^1,000,000 / }).waitFor();
  await box.focus();
  for (const [key, text] of [
    ['ArrowDown', 'Rows 2 to 13 of 1,000,000'],
    ['PageDown', 'Rows 13 to 24 of 1,000,000'],
    ['ArrowUp', 'Rows 12 to 23 of 1,000,000'],
    ['End', 'Rows 999,989 to 1,000,000 of 1,000,000'],
    ['ArrowUp', 'Rows 999,988 to 999,999 of 1,000,000'],
    ['Home', 'Rows 1 to 12 of 1,000,000'],
  ] as const) {
    await page.keyboard.press(key);
    await rows.getByText(text).waitFor();
  }
  assertQuiet(opened);
});

history('follows new rows at the top, and keeps its position further down', async (pages) => {
  const backend = new FakeBackend(pages.account, 'Ada', ANALYST);
  for (let count = 0; count < 40; count += 1) backend.observe(CALM);
  await using opened = await openLive(pages, backend, 'history');
  const { page } = opened;
  const box = page.getByRole('region', { name: 'Rows of the history' });
  await box.getByRole('row', { name: /^40 / }).waitFor();
  const asked = () => bodiesOf(pages, 'GET /api/instances/:id/history').length;
  const before = asked();
  backend.observe(CALM);
  await box.getByRole('row', { name: /^41 / }).waitFor();
  await box.focus();
  await page.keyboard.press('PageDown');
  await box.getByRole('row', { name: /^30 / }).waitFor();
  for (let count = 0; count < 3; count += 1) backend.observe(CALM);
  await page.getByRole('button', { name: 'Show 3 newer' }).waitFor();
  await box.getByRole('row', { name: /^30 / }).waitFor();
  await page.getByRole('button', { name: 'Show 3 newer' }).click();
  await box.getByRole('row', { name: /^44 / }).waitFor();
  assert.is(asked(), before, 'the stream delivers new rows');
  assertQuiet(opened);
});

history('reports a failed load, and loads again', async (pages) => {
  const backend = new FakeBackend(pages.account, 'Ada', ANALYST);
  backend.madeUp = 5_000;
  await using opened = await openLive(pages, backend, 'history');
  const { page } = opened;
  const box = page.getByRole('region', { name: 'Rows of the history' });
  await box.getByRole('row', { name: /^5,000 / }).waitFor();
  pages.account.broken.set('GET /api/instances/:id/history', 500);
  await box.focus();
  await page.keyboard.press('End');
  await page.getByText('The store is away.').waitFor();
  pages.account.broken.clear();
  await page.getByRole('button', { name: 'Try again' }).click();
  await box.getByRole('row', { name: /^1 / }).waitFor();
});

const ending = browserSuite('an action that cannot be undone');

ending('requires that the name is typed first', async (pages) => {
  await using opened = await openLive(pages, undefined, 'settings');
  const { page, backend } = opened;
  for (let count = 0; count < 2; count += 1) backend.observe(CALM);
  await untilCycle(page, 2);
  await page.getByRole('button', { name: 'Reset …' }).click();
  const reset = page.getByRole('button', { name: 'Reset', exact: true });
  assert.ok(await reset.isDisabled());
  await page.getByLabel('Type the name of the instance').fill('ada');
  assert.ok(await reset.isDisabled(), 'exactly the name');
  await page.getByLabel('Reset', { exact: true }).selectOption('To the initial state');
  await page.getByLabel('Type the name of the instance').fill('Ada');
  await reset.click();
  await untilCycle(page, 0);
  assert.equal(bodiesOf(pages, 'POST /api/instances/:id/reset'), [{ mode: 'initial' }]);
  await page.getByText('Ada was reset.').waitFor();
  await page.locator('button:focus', { hasText: 'Reset …' }).waitFor();
  await page.getByRole('button', { name: 'Delete …' }).click();
  const remove = page.getByRole('button', { name: 'Delete permanently' });
  assert.ok(await remove.isDisabled());
  await page.keyboard.type('Ada');
  await page.keyboard.press('Enter');
  await page.getByText('Ada was deleted.').waitFor();
  await page.getByRole('heading', { name: 'Fleet' }).waitFor();
  assert.is(new URL(page.url()).pathname, '/fleet');
  await page.locator('h1:focus').waitFor();
  assert.is(pages.account.backends.size, 0);
  assertQuiet(opened);
});

ending('is not offered to roles that may only read', async (pages) => {
  const backend = new FakeBackend(pages.account, 'Ada', ANALYST);
  const owner = await pages.desk.owner();
  const viewer = await pages.desk.member(owner, 'vera@example.com', 'viewer');
  await using opened = await pages.open(`/instances/${backend.instance.id}?tab=try`, viewer);
  const { page } = opened;
  await page.getByText('live', { exact: true }).waitFor();
  await page.getByText('Your role can read instances').waitFor();
  assert.is(await page.getByRole('button', { name: /^(Send|Reset|Delete)/ }).count(), 0);
  assert.is(await page.getByRole('textbox').count(), 0, 'no form without a button');
  assert.is(await page.getByRole('link', { name: 'Settings' }).count(), 0);
  await page.getByRole('button', { name: 'Try it on a copy' }).click();
  await page.getByText('The instance did not change.').waitFor();
  assertQuiet(opened);
});

for (const each of [observing, simulating, history, ending]) each.run();
