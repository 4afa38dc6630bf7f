import * as assert from 'uvu/assert';
import { PASSWORD } from '#test/console/console-fixture';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import { FakeBackend } from '#test/console/pages/fakes/fake-backend';
import {
  ANALYST,
  CALM,
  figure,
  openLive,
  openTab,
  takeRoutes,
  untilCycle,
  WILD,
} from '#test/console/pages/instance/live-page';

const live = browserSuite('the instance page');

live('shows the state, and each observation as it happens', async (pages) => {
  await using opened = await openLive(pages);
  const { page, backend } = opened;
  await untilCycle(page, 0);
  assert.is(await figure(page, 'Energy'), '80 %');
  // An engine of release 1.0 names no model.
  assert.is(await figure(page, 'Model'), '1.0');
  assert.is(await page.getByText('Model 1.1 changes a list').count(), 0);
  assert.is(await figure(page, 'Drift'), 'D0 within band');
  assert.is(await figure(page, 'Generation'), '1');
  await page.getByText('The Analyst').first().waitFor();
  const report = backend.observe(CALM);
  await untilCycle(page, 1);
  assert.is(await figure(page, 'Mode now'), 'Perception, Order');
  assert.ok(report.contract.allowed_actions.length > 0);
  for (const action of report.contract.allowed_actions) {
    await page.locator('.reasons .is-good', { hasText: action }).first().waitFor();
  }
  await page.getByText('1 observation in generation 1').waitFor();
  await openTab(page, 'History');
  await page.getByRole('row', { name: /^1 .*order/ }).waitFor();
  assertQuiet(opened);
});

live('needs few requests to open, and others only for the tabs that are opened', async (pages) => {
  const backend = new FakeBackend(pages.account, 'Ada', ANALYST);
  backend.observe(CALM);
  await using opened = await openLive(pages, backend);
  const { page } = opened;
  await page.getByText('The Analyst').first().waitFor();
  const of = (path: string) => `GET /api/instances/:id${path}`;
  const begun = [of(''), of('/events'), of('/states'), 'GET /api/personas'];
  assert.equal(takeRoutes(pages).toSorted(), begun);
  await openTab(page, 'Course');
  await page.getByText('2 states, 1 observation, 0 drift events').waitFor();
  assert.equal(takeRoutes(pages).toSorted(), [of('/drift'), of('/history')]);
  await openTab(page, 'History');
  await page.getByRole('row', { name: /^1 .*order/ }).waitFor();
  assert.equal(takeRoutes(pages), [of('/history')]);
  for (const name of ['Try', 'Connect', 'Settings', 'State', 'Course', 'History']) {
    await openTab(page, name);
  }
  backend.observe(CALM);
  await page.getByRole('row', { name: /^2 .*order/ }).waitFor();
  assert.equal(takeRoutes(pages), [], 'a tab that was open before needs no request');
  assert.equal(backend.opened, [undefined], 'one stream for all tabs');
  assertQuiet(opened);
});

live('reconnects after the last event when its stream ends, without loss', async (pages) => {
  await using opened = await openLive(pages, undefined, 'history');
  const { page, backend } = opened;
  for (let count = 0; count < 3; count += 1) backend.observe(CALM);
  await untilCycle(page, 3);
  backend.cut();
  for (let count = 0; count < 4; count += 1) backend.observe(CALM);
  await untilCycle(page, 7);
  for (let cycle = 1; cycle <= 7; cycle += 1) {
    await page.getByRole('row', { name: new RegExp(`^${cycle} `) }).waitFor();
  }
  await page.getByText('live', { exact: true }).waitFor();
  assert.equal(backend.opened, [undefined, '3']);
  const histories = takeRoutes(pages).filter((route) => route.endsWith('/history'));
  assert.is(histories.length, 1, 'the stream delivers the rows');
  assertQuiet(opened);
});

live('opens a refused stream again, and shows meanwhile that it is reconnecting', async (pages) => {
  await using opened = await openLive(pages);
  const { page, backend } = opened;
  backend.observe(CALM);
  await untilCycle(page, 1);
  pages.account.broken.set('GET /api/instances/:id/events', 503);
  backend.cut();
  await page.getByText('reconnecting', { exact: true }).waitFor();
  backend.observe(CALM);
  pages.account.broken.clear();
  await untilCycle(page, 2);
  assert.equal(backend.opened, [undefined, '1']);
});

live('leads to the sign-in when the session has ended, and returns afterwards', async (pages) => {
  const backend = new FakeBackend(pages.account, 'Ada', ANALYST);
  const owner = await pages.desk.owner();
  await using opened = await pages.open(`/instances/${backend.instance.id}`, owner);
  const { page } = opened;
  await page.getByText('live', { exact: true }).waitFor();
  await owner.expect(204, 'POST', '/sign-out', {});
  backend.cut();
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  assert.is(new URL(page.url()).pathname, `/instances/${backend.instance.id}`);
  await page.getByLabel('Email').fill('ada@example.com');
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Ada', exact: true }).waitFor();
  await page.getByText('live', { exact: true }).waitFor();
  assert.is(new URL(page.url()).pathname, `/instances/${backend.instance.id}`);
  backend.observe(CALM);
  await untilCycle(page, 1);
  assert.equal(opened.complaints, []);
});

live('shows a reset, deleted history, and that the instance was deleted', async (pages) => {
  await using opened = await openLive(pages, undefined, 'history');
  const { page, backend } = opened;
  for (let count = 0; count < 3; count += 1) backend.observe(CALM);
  await untilCycle(page, 3);
  backend.reset('initial');
  await untilCycle(page, 0);
  assert.is(await figure(page, 'Generation'), '2');
  await page.getByText('No observation in this generation yet').waitFor();
  for (let count = 0; count < 2; count += 1) backend.observe(CALM);
  await page.getByText('2 observations of this generation').waitFor();
  backend.cut();
  for (let count = 0; count < 5; count += 1) backend.observe(CALM);
  backend.floor = 8;
  await page.getByText('Observations 6 to 8 are no longer stored').waitFor();
  await untilCycle(page, 7);
  await page.getByRole('region', { name: 'Rows of the history' }).focus();
  backend.remove();
  await page.getByText('This instance was deleted').waitFor();
  await page.locator('h2:focus', { hasText: 'This instance was deleted' }).waitFor();
});

live('reports a deletion that happened while it was disconnected', async (pages) => {
  await using opened = await openLive(pages);
  const { page, backend } = opened;
  pages.account.broken.set('GET /api/instances/:id/events', 503);
  backend.remove();
  await page.getByText('This instance was deleted').waitFor();
});

live('draws nothing while paused, and catches up afterwards', async (pages) => {
  await using opened = await openLive(pages);
  const { page, backend } = opened;
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText('paused', { exact: true }).waitFor();
  for (let count = 0; count < 5; count += 1) backend.observe(CALM);
  // The next stream starts after the newest event, so all events have arrived.
  backend.cut();
  await backend.untilOpened(2);
  assert.is(backend.opened[1], '5');
  assert.is(await figure(page, 'Cycle'), '0');
  await page.getByRole('button', { name: 'Continue' }).click();
  await untilCycle(page, 5);
  await page.getByText('5 observations in generation 1').waitFor();
  assertQuiet(opened);
});

live('shows the deviation of a drift event by click and by Enter', async (pages) => {
  await using opened = await openLive(pages, undefined, 'course');
  const { page, backend } = opened;
  for (let count = 0; count < 8; count += 1) backend.observe(count % 2 === 0 ? CALM : WILD);
  await untilCycle(page, 8);
  const strip = page.getByRole('toolbar', { name: 'Drift marks' }).first();
  const [chart, below] = [
    await page.locator('.line-chart-canvas').first().boundingBox(),
    await strip.boundingBox(),
  ];
  assert.ok(
    chart !== null && below !== null && below.y >= chart.y + chart.height,
    'below the chart',
  );
  assert.ok(chart.width > 800, 'as wide as the page');
  const marks = strip.getByRole('button');
  assert.ok((await marks.count()) > 1, 'the instance drifted');
  const name = (await marks.first().getAttribute('aria-label')) ?? '';
  const ordinal = /cycle (\d+)/.exec(name)?.[1];
  await marks.first().click();
  await page.getByRole('region', { name: `Drift at cycle ${ordinal}` }).waitFor();
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  const last = /cycle (\d+)/.exec((await marks.last().getAttribute('aria-label')) ?? '')?.[1];
  const part = page.getByRole('region', { name: `Drift at cycle ${last}` });
  await part.waitFor();
  const rows = part.getByRole('row');
  assert.is(await rows.count(), 8, 'a row for each mode');
  await part.getByRole('row', { name: /^Assertion \+/ }).waitFor();
  assertQuiet(opened);
});

live('shows the chart’s numbers in a table, and can hide a line', async (pages) => {
  await using opened = await openLive(pages, undefined, 'course');
  const { page, backend } = opened;
  for (let count = 0; count < 3; count += 1) backend.observe(CALM);
  await untilCycle(page, 3);
  const lines = page.getByRole('region', { name: 'Course' });
  await lines.getByText('Show the numbers').click();
  const table = lines.getByRole('table', { name: /^Modes, energy and stability/ });
  await table.waitFor();
  assert.is(
    await table.getByRole('row').count(),
    5,
    'header, initial state, and three observations',
  );
  await lines.getByRole('checkbox', { name: /^Energy/ }).uncheck();
  backend.observe(CALM);
  await untilCycle(page, 4);
  assertQuiet(opened);
});

live('shows names and contexts as text, whatever their content', async (pages) => {
  const name = '<img src=x onerror="document.title=1"><script>alert(1)</script>';
  const backend = new FakeBackend(pages.account, name, ANALYST, name);
  await using opened = await openLive(pages, backend);
  const { page } = opened;
  backend.observe(CALM, { text: name });
  await openTab(page, 'History');
  await page.getByRole('button', { name: 'Context of cycle 1' }).click();
  await page.getByRole('dialog').getByText('<img src=x').waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  await openTab(page, 'Try');
  await page.getByRole('textbox', { name: 'Context' }).fill(JSON.stringify({ text: name }));
  await page.locator('.code pre').getByText('<img src=x').waitFor();
  assert.is(await page.locator('main img, main script, dialog img').count(), 0);
  assertQuiet(opened);
});

live('shows another instance when the address changes', async (pages) => {
  const other = new FakeBackend(pages.account, 'Grace', ANALYST);
  await using opened = await openLive(pages);
  const { page } = opened;
  await page.evaluate(`history.pushState(undefined, '', '/instances/${other.instance.id}');
    dispatchEvent(new PopStateEvent('popstate'))`);
  await page.getByRole('heading', { name: 'Grace', exact: true }).waitFor();
  other.observe(CALM);
  await untilCycle(page, 1);
  await opened.backend.untilLeft();
  assertQuiet(opened);
});

live('reports an unknown instance', async (pages) => {
  await using opened = await pages.open(
    '/instances/inst_00000000000000ff',
    await pages.desk.owner(),
  );
  await opened.page.getByText('The instance could not be loaded.').waitFor();
  await opened.page.getByText('Instance not found.').waitFor();
});

live.run();
