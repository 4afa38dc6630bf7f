import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { contractPrompt } from '#identity/contract-prompt';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import type { FakeBackend } from '#test/console/pages/fakes/fake-backend';
import type { TestPages } from '#test/console/pages/fakes/pages-fixture';
import { observeExtremes, supportDesk } from '#test/console/pages/fakes/support-desk';
import {
  CALM,
  focusedTag,
  openLive,
  takeRoutes,
  untilCycle,
} from '#test/console/pages/instance/live-page';

/** Observations before the page is opened. */
const CYCLES = 60;

/** Bodies of requests for exact states since the last call: the cycles of each request. */
function takeCycles(pages: TestPages): number[][] {
  const queries = pages.account.sent
    .splice(0)
    .filter(({ route }) => route.endsWith('/states'))
    .map(({ body }) => (body as { cycles?: string }).cycles);
  return queries.flatMap((cycles) => (cycles === undefined ? [] : [cycles.split(',').map(Number)]));
}

/** Opens the course of an instance with a past, and waits until its states are loaded. */
async function openCourse(pages: TestPages, change: (backend: FakeBackend) => void = () => {}) {
  const backend = supportDesk(pages.account);
  for (let count = 0; count < CYCLES; count += 1) observeExtremes(backend, count);
  change(backend);
  const opened = await openLive(pages, backend, 'course');
  const chart = opened.page.getByRole('slider', { name: 'Modes, energy and stability by cycle' });
  await chart.waitFor();
  await opened.page.getByText('Loading …', { exact: true }).waitFor({ state: 'detached' });
  return Object.assign(opened, { chart });
}

const visible = (page: Page) => page.getByText(/^Cycles /);

const past = browserSuite('the course of an instance');

past('shows the past when it is opened, for a few requests', async (pages) => {
  await using opened = await openCourse(pages);
  const { page, chart } = opened;
  await page.getByText('22 states, 60 observations, 35 drift events').waitFor();
  const of = (path: string) => `GET /api/instances/:id${path}`;
  const states = new Array(3).fill(of('/states'));
  assert.equal(takeRoutes(pages).toSorted(), [
    ...[of(''), of('/drift'), of('/events'), of('/history'), ...states],
  ]);
  assert.is(await visible(page).innerText(), 'Cycles 0 to 60');
  assert.match((await chart.getAttribute('aria-valuetext')) ?? '', /^Cycle 60, stress LOW/);
  assert.ok((await page.locator('button.mark').count()) > 10);
  assertQuiet(opened);
});

past('is zoomed, moved and read with the keyboard', async (pages) => {
  await using opened = await openCourse(pages);
  const { page, chart } = opened;
  pages.account.sent.splice(0);
  await chart.focus();
  await page.keyboard.press('Home');
  await page.getByRole('heading', { name: 'Cycle 0', exact: true }).waitFor();
  await page.keyboard.press('End');
  await page.keyboard.press('ArrowLeft');
  const text = (await chart.getAttribute('aria-valuetext')) ?? '';
  const cycle = Number(/^Cycle (\d+)/.exec(text)?.[1]);
  assert.ok(cycle < 60 && cycle > 50, text);
  await page.getByRole('heading', { name: `Cycle ${cycle}`, exact: true }).waitFor();
  assert.equal(takeRoutes(pages), [], 'known states need no request');
  await page.keyboard.press('+');
  await visible(page).getByText('Cycles 15 to 45 of 60').waitFor();
  await page.keyboard.press('Shift+ArrowLeft');
  await visible(page).getByText('Cycles 8 to 37 of 60').waitFor();
  await page.keyboard.press('-');
  await visible(page).getByText('Cycles 0 to 60').waitFor();
  await page.keyboard.press('+');
  await page.keyboard.press('0');
  await visible(page).getByText('Cycles 0 to 60').waitFor();
  assert.is(await page.evaluate('document.activeElement.id'), 'course-chart');
  assertQuiet(opened);
});

past('loads exact states for the visible part once the zoom rests', async (pages) => {
  await using opened = await openCourse(pages);
  const { page } = opened;
  pages.account.sent.splice(0);
  const zoomIn = page.getByRole('button', { name: 'Zoom in' });
  const asked = page.waitForResponse(/states\?cycles/);
  await zoomIn.click();
  await zoomIn.click();
  await asked;
  const [cycles = [], ...others] = takeCycles(pages);
  assert.equal(others, [], 'two steps and one request');
  assert.ok(cycles.length > 0 && cycles.length <= 10, `${cycles}`);
  assert.ok(
    cycles.every((cycle) => cycle >= 22 && cycle <= 38),
    `${cycles}`,
  );
  assertQuiet(opened);
});

past('is zoomed and moved with the mouse, and a click selects the exact cycle', async (pages) => {
  await using opened = await openCourse(pages);
  const { page, chart } = opened;
  pages.account.sent.splice(0);
  const box = await chart.boundingBox();
  assert.ok(box);
  const at = (cycle: number) => box.x + 52 + ((box.width - 66) * cycle) / CYCLES;
  const y = box.y + box.height / 2;
  await page.mouse.click(at(21), y);
  await page.getByRole('heading', { name: 'Cycle 21', exact: true }).waitFor();
  await page.getByRole('region', { name: 'Drift at cycle 21' }).waitFor();
  const [[cycle] = []] = takeCycles(pages);
  assert.is(cycle, 21);
  await page.keyboard.down('Control');
  await page.mouse.move(at(0), y);
  await page.mouse.wheel(0, -300);
  await page.keyboard.up('Control');
  await visible(page).getByText('Cycles 0 to 22 of 60').waitFor();
  await page.mouse.move(at(50), y);
  await page.mouse.down();
  await page.mouse.move(at(20), y, { steps: 4 });
  await page.mouse.up();
  await visible(page).getByText('Cycles 12 to 33 of 60').waitFor();
  assert.is(await page.getByRole('heading', { name: 'Cycle 21', exact: true }).count(), 1);
  assertQuiet(opened);
});

past('is zoomed by a pinch, moved by a finger, and selects by a tap', async (pages) => {
  await using opened = await openCourse(pages);
  const { page, chart } = opened;
  const box = await chart.boundingBox();
  assert.ok(box);
  const session = await page.context().newCDPSession(page);
  const y = box.y + 100;
  const middle = box.x + 52 + (box.width - 66) / 2;
  const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', xs: readonly number[]) =>
    session.send('Input.dispatchTouchEvent', {
      type,
      touchPoints: xs.map((x, id) => ({ x, y, id })),
    });
  await touch('touchStart', [middle - 50, middle + 50]);
  await touch('touchMove', [middle - 80, middle + 80]);
  await touch('touchMove', [middle - 100, middle + 100]);
  await touch('touchEnd', []);
  await visible(page).getByText('of 60').waitFor();
  const zoomed = await visible(page).innerText();
  await touch('touchStart', [middle]);
  await touch('touchMove', [middle - 60]);
  await touch('touchMove', [middle - 120]);
  await touch('touchEnd', []);
  await visible(page).getByText(zoomed).waitFor({ state: 'detached' });
  await touch('touchStart', [middle]);
  await touch('touchEnd', []);
  await page.locator('#moment').waitFor();
  assertQuiet(opened);
});

past('takes new cycles from the stream, and a zoomed part follows them', async (pages) => {
  await using opened = await openCourse(pages);
  const { page, backend } = opened;
  await page.getByRole('button', { name: 'Zoom in' }).click();
  for (let step = 0; step < 4; step += 1) await page.getByRole('button', { name: 'Later' }).click();
  await visible(page).getByText('Cycles 30 to 60 of 60').waitFor();
  await page.getByText('Loading …', { exact: true }).waitFor({ state: 'detached' });
  pages.account.sent.splice(0);
  backend.observe(CALM);
  backend.observe(CALM);
  await untilCycle(page, 62);
  await visible(page).getByText('Cycles 32 to 62 of 62').waitFor();
  await page.getByText('62 observations').waitFor();
  assertQuiet(opened);
});

past('shows an earlier generation, which a reset ended', async (pages) => {
  await using opened = await openCourse(pages, (backend) => {
    backend.reset('initial');
    for (let count = 0; count < 5; count += 1) backend.observe(CALM);
  });
  const { page } = opened;
  await page.getByText('The generation began with a reset.').waitFor();
  await page.getByText('6 states, 5 observations').waitFor();
  await page.getByLabel('Generation').selectOption('1');
  await page.getByText('It ended with a reset.').waitFor();
  await visible(page).getByText('Cycles 0 to 60').waitFor();
  await page.getByText(/^1\d states, 60 observations/).waitFor();
  const generations = pages.account.sent
    .filter(({ route }) => route.endsWith('/states'))
    .map(({ body }) => (body as { generation?: string }).generation);
  assert.is(generations.at(-1), '1');
  assertQuiet(opened);
});

past('goes on without states that are not stored any more', async (pages) => {
  await using opened = await openCourse(pages, (backend) => {
    backend.firstStored = 10;
  });
  const { page, chart, backend } = opened;
  await page.getByText('The stored states begin at cycle 10.').waitFor();
  const known = takeCycles(pages).flat();
  const unknown = Array.from({ length: 18 }, (_, index) => 11 + index);
  const cycle = String(unknown.find((each) => !known.includes(each)));
  backend.firstStored = 30;
  await page.getByLabel('Cycle', { exact: true }).fill(cycle);
  await page.getByRole('button', { name: 'Go to cycle' }).click();
  await page.getByText('The stored states begin at cycle 30.').waitFor();
  await page.getByText('The state after this cycle was not loaded.').waitFor();
  await page.getByRole('button', { name: 'Try again' }).waitFor();
  await chart.focus();
  await page.keyboard.press('End');
  await page.getByRole('heading', { name: 'Cycle 60', exact: true }).waitFor();
  assert.equal(opened.complaints, []);
  const first = opened.refused.map((text) => /cycles=(\d+)/.exec(text)?.[1]);
  assert.equal(first, ['0', cycle], 'each trim is found by one refusal');
});

past('says how long to wait when the requests of the minute are used up', async (pages) => {
  await using opened = await openCourse(pages);
  const { page } = opened;
  pages.account.broken.set('GET /api/instances/:id/states', {
    ...{ status: 429, headers: { 'retry-after': '20' } },
    body: { error: 'rate_limited', message: 'too many requests this minute' },
  });
  await page.getByLabel('Cycle', { exact: true }).fill('12');
  await page.getByRole('button', { name: 'Go to cycle' }).click();
  await page.getByText('Try again in 20 seconds.').waitFor();
  pages.account.broken.clear();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('region', { name: 'Drift at cycle 12' }).waitFor();
  assert.is(await page.evaluate('document.activeElement.id'), 'course-chart');
});

const moment = browserSuite('a selected state');

moment('shows its contract and prompt, and is closed without losing the focus', async (pages) => {
  await using opened = await openCourse(pages);
  const { page, chart, backend } = opened;
  await chart.focus();
  await page.keyboard.press('End');
  const prompt = contractPrompt(backend.report.contract);
  const part = page.getByRole('region', { name: 'Cycle 60' });
  assert.is(await part.locator('pre').innerText(), prompt);
  for (const action of backend.report.contract.forbidden_actions) {
    await part.locator('.reasons .is-bad', { hasText: action }).waitFor();
  }
  await part.getByRole('button', { name: 'Close' }).click();
  await part.waitFor({ state: 'detached' });
  assert.is(await page.evaluate('document.activeElement.id'), 'course-chart');
  assertQuiet(opened);
});

moment('is forked once, also after a lost answer, and leads to the new instance', async (pages) => {
  await using opened = await openCourse(pages);
  const { page, chart } = opened;
  await chart.focus();
  await page.keyboard.press('Home');
  await page.getByRole('button', { name: 'Fork from here …' }).click();
  await page.getByLabel('Name of the new instance').fill('Ada again');
  await page.route('**/fork', (route) => route.abort(), { times: 1 });
  const fork = page.getByRole('button', { name: 'Fork', exact: true });
  await fork.click();
  await page.getByText('The console does not answer').waitFor();
  assert.is(await focusedTag(page), 'BUTTON', 'the button keeps the focus');
  pages.account.sent.splice(0);
  await fork.click();
  await page.getByRole('link', { name: 'Open Ada again' }).waitFor();
  await page.locator('a:focus', { hasText: 'Open Ada again' }).waitFor();
  const sent = pages.account.sent.find(({ route }) => route.endsWith('/fork'));
  assert.equal(sent?.body, { name: 'Ada again', cycle: 0, generation: 1 });
  assert.match(sent?.idempotencyKey ?? '', /^[0-9a-f]{32}$/);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Ada again', exact: true }).waitFor();
});

moment('is compared with now, and with another state that was kept', async (pages) => {
  await using opened = await openCourse(pages);
  const { page, chart } = opened;
  await chart.focus();
  await page.keyboard.press('Home');
  await page.getByRole('button', { name: 'Keep for a comparison' }).click();
  await page.getByRole('button', { name: 'Compare with now' }).click();
  const now = page.getByRole('region', { name: 'Comparison of cycle 0 and now' });
  await now.getByRole('row', { name: 'Cycle 0 60 +60' }).waitFor();
  await chart.focus();
  await page.keyboard.press('ArrowRight');
  await page.getByRole('button', { name: 'Compare with cycle 0' }).click();
  await page.getByRole('region', { name: /^Comparison of cycle \d+ and cycle 0$/ }).waitFor();
  assertQuiet(opened);
});

for (const each of [past, moment]) each.run();
