import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { contractPrompt } from '#identity/contract-prompt';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import { FakeBackend } from '#test/console/pages/fakes/fake-backend';
import { observeExtremes, supportDesk } from '#test/console/pages/fakes/support-desk';
import {
  ANALYST,
  CALM,
  focusedTag,
  openLive,
  openTab,
  untilCycle,
  WILD,
} from '#test/console/pages/instance/live-page';

/** Number of listeners in the page after a garbage collection. */
async function listenersIn(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  await session.send('HeapProfiler.collectGarbage');
  const { metrics } = await session.send('Performance.getMetrics');
  await session.detach();
  return metrics.find(({ name }) => name === 'JSEventListeners')?.value ?? Number.NaN;
}

const live = browserSuite('a live page');

live('adds no listeners with its observations, and no mark keeps one', async (pages) => {
  await using opened = await openLive(pages, undefined, 'course');
  const { page, backend } = opened;
  const observe = async (count: number, upTo: number) => {
    for (let each = 0; each < count; each += 1) backend.observe(each % 3 === 0 ? WILD : CALM);
    await untilCycle(page, upTo);
  };
  await observe(20, 20);
  const marks = await page.locator('button.mark').count();
  const before = await listenersIn(page);
  await observe(60, 80);
  assert.ok((await page.locator('button.mark').count()) > marks + 30, 'the page has more marks');
  const after = await listenersIn(page);
  assert.ok(after <= before + 5, `${before} listeners, then ${after}`);
  assertQuiet(opened);
});

live('announces changes of stress and drift, at most once a second', async (pages) => {
  await using opened = await openLive(pages, supportDesk(pages.account));
  const { page, backend } = opened;
  await untilCycle(page, 0);
  await page.evaluate(`
    globalThis.announced = [];
    const region = [...document.querySelectorAll('main > .unseen[role=status]')].at(-1);
    new MutationObserver(() => announced.push([performance.now(), region.innerText]))
      .observe(region, { childList: true, characterData: true, subtree: true });`);
  for (let count = 0; count < 27; count += 1) {
    observeExtremes(backend, count);
    await untilCycle(page, count + 1);
  }
  const { stress_state: stress } = backend.report.snapshot;
  assert.not.equal(stress, 'LOW');
  const announced = async () => (await page.evaluate('announced')) as [number, string][];
  await page.evaluate(`new Promise((resolve) => {
    const look = () => announced.some(([, text]) => text.includes('now ${stress}.'))
      ? resolve() : requestAnimationFrame(look);
    look();
  })`);
  const times = (await announced()).map(([ms]) => ms);
  const pauses = times.slice(1).map((ms, index) => ms - (times[index] ?? 0));
  assert.ok(
    pauses.every((ms) => ms > 950),
    `${pauses}`,
  );
  assertQuiet(opened);
});

const focus = browserSuite('the focus on an instance page');

focus('stays on the button that sends, tries and saves', async (pages) => {
  await using opened = await openLive(pages, undefined, 'try');
  const { page } = opened;
  const focused = () => page.evaluate('document.activeElement.textContent');
  await page.getByRole('button', { name: 'Send, for 1 cycle' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('Cycle 1:').waitFor();
  assert.is(await focused(), 'Send, for 1 cycle');
  await page.getByRole('button', { name: 'Add an observation' }).click();
  await page.getByRole('button', { name: 'Remove observation 2' }).focus();
  await page.keyboard.press('Enter');
  assert.is(await focused(), 'Add an observation');
  await page.getByRole('button', { name: 'Try it on a copy' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('The instance did not change.').waitFor();
  assert.is(await focused(), 'Try it on a copy');
  await openTab(page, 'Settings');
  await page.getByLabel('Name', { exact: true }).fill('Eva');
  await page.getByRole('button', { name: 'Save' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Eva', exact: true }).waitFor();
  assert.is(await focused(), 'Save');
  assertQuiet(opened);
});

focus('stays on the link of a tab, and typed texts stay in the other tab', async (pages) => {
  await using opened = await openLive(pages, undefined, 'try');
  const { page } = opened;
  await page.getByLabel('Context').fill('{"turn": 12}');
  const links = page.getByRole('navigation', { name: 'Parts of the instance' });
  await links.getByRole('link', { name: 'Connect' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Connect an agent' }).waitFor();
  assert.is(await page.evaluate('document.activeElement.textContent'), 'Connect');
  assert.is(
    await links.getByRole('link', { name: 'Connect' }).getAttribute('aria-current'),
    'page',
  );
  assert.is(new URL(page.url()).search, '?tab=connect');
  await page.goBack();
  assert.is(await page.getByLabel('Context').inputValue(), '{"turn": 12}');
  assertQuiet(opened);
});

focus('moves to the rows when the button for newer rows disappears', async (pages) => {
  const backend = new FakeBackend(pages.account, 'Ada', ANALYST);
  for (let count = 0; count < 40; count += 1) backend.observe(CALM);
  await using opened = await openLive(pages, backend, 'history');
  const { page } = opened;
  await page.getByRole('region', { name: 'Rows of the history' }).focus();
  await page.keyboard.press('PageDown');
  backend.observe(CALM);
  await page.getByRole('button', { name: 'Show 1 newer' }).click();
  await page.getByRole('row', { name: /^41 / }).waitFor();
  assert.is(await focusedTag(page), 'SECTION');
});

const settings = browserSuite('the settings of an instance');

settings('save only what changed, and show the field of a refusal', async (pages) => {
  await using opened = await openLive(pages, undefined, 'settings');
  const { page } = opened;
  const bodies = () =>
    pages.account.sent.filter(({ route }) => route.startsWith('PATCH')).map(({ body }) => body);
  const save = page.getByRole('button', { name: 'Save' });
  await save.click();
  await page.getByText('Nothing changed.').waitFor();
  assert.equal(bodies(), []);
  await page
    .getByRole('textbox', { name: /^Tags/ })
    .fill('team: support\nurgent\n\nurl: https://a.example/b');
  await save.click();
  await page.getByText('Saved.').waitFor();
  const tags = { team: 'support', urgent: '', url: 'https://a.example/b' };
  assert.equal(bodies(), [{ tags }]);
  await page.locator('.live-head').getByText('team: support').waitFor();
  const body = {
    ...{ error: 'invalid_request', message: 'must have at most 64 characters' },
    details: { field: 'tags.team', reason: 'too_long' },
  };
  pages.account.broken.set('PATCH /api/instances/:id', { status: 422, body });
  await page.getByLabel('Description').fill('Answers people.');
  await save.click();
  await page.locator('.field-error').getByText('Must have at most 64 characters.').waitFor();
  assert.equal(bodies().at(-1), { description: 'Answers people.' });
});

const connect = browserSuite('the connection of an instance');

connect('shows the prompt and the tool map, and follows the contract', async (pages) => {
  await using opened = await openLive(pages, supportDesk(pages.account), 'connect');
  const { page, backend } = opened;
  const prompt = page.getByRole('region', { name: 'Prompt now' }).locator('pre');
  await prompt.getByText(contractPrompt(backend.report.contract).slice(-30)).waitFor();
  for (let count = 0; count < 27; count += 1) observeExtremes(backend, count);
  await untilCycle(page, 27);
  const { contract } = backend.report;
  assert.is(await prompt.innerText(), contractPrompt(contract));
  for (const action of contract.forbidden_actions) {
    await page.getByRole('row', { name: new RegExp(`^${action} .* forbidden refuse$`) }).waitFor();
  }
  await page.getByRole('button', { name: 'Vercel AI SDK' }).click();
  const code = page.getByRole('region', { name: 'Code of the connection' }).locator('pre');
  assert.ok((await code.innerText()).includes(backend.instance.id));
  assertQuiet(opened);
});

const phone = browserSuite('the history on a phone');

phone('shows all of a row, and fields do not make the browser zoom', async (pages) => {
  const backend = new FakeBackend(pages.account, 'Ada', ANALYST);
  backend.observe({ mode: 6, signal: 1, confidence: 1 }, { turn: 3, topic: 'refund' });
  await using opened = await openLive(pages, backend, 'history');
  const { page } = opened;
  await page.setViewportSize({ width: 390, height: 844 });
  const row = page.getByRole('row', { name: /^1 / });
  await row.waitFor();
  const cut = await page.evaluate(`
    [...document.querySelector('.history-rows tbody tr').cells].slice(0, 5)
      .filter((cell) => cell.scrollWidth > cell.clientWidth || cell.clientWidth === 0)
      .map((cell) => cell.innerText)`);
  assert.equal(cut, []);
  await row.getByText('stress response').waitFor();
  await row.getByRole('button', { name: 'Context of cycle 1' }).click();
  await page.getByRole('dialog').getByText('"topic": "refund"').waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  await openTab(page, 'Try');
  const sizes = await page.evaluate(`[...document.querySelectorAll('input, select, textarea')]
    .map((field) => parseFloat(getComputedStyle(field).fontSize)).filter((size) => size < 16)`);
  assert.equal(sizes, []);
  assertQuiet(opened);
});

const first = browserSuite('the first screen of an instance');

first('shows state, contract and course in 900 pixels', async (pages) => {
  const backend = supportDesk(pages.account);
  for (let count = 0; count < 60; count += 1) observeExtremes(backend, count);
  await using opened = await openLive(pages, backend);
  const { page } = opened;
  await page.setViewportSize({ width: 1280, height: 900 });
  for (const name of ['State now', 'Contract', 'How it came here', 'Modes']) {
    const box = await page.getByRole('region', { name, exact: true }).boundingBox();
    assert.ok(box !== null && box.y + box.height <= 900, `${name}: ${JSON.stringify(box)}`);
  }
  assertQuiet(opened);
});

for (const each of [live, focus, settings, connect, phone, first]) each.run();
