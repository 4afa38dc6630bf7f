import type { Browser } from 'playwright-core';
import * as assert from 'uvu/assert';
import type { ClusterReport } from '#cluster-status/report';
import type { ClusterReport as ShownReport } from '#pages/cluster/answers';
import { faultsOf } from '#test/console/pages/fakes/axe';
import { assertQuiet } from '#test/console/pages/fakes/browser-suite';
import {
  type ClusterDesk,
  clusterReport,
  nodeReport,
  openClusterDesk,
  serviceReport,
  troubledReport,
} from '#test/console/pages/fakes/cluster-fixture';
import { ADMIN_TOKEN } from '#test/support/calls/admin-token';
import { chromiumSuite, launchChromium } from '#test/support/servers/chromium';

/** Compile-time check that the page accepts the report of the admin port. */
const asShown = (report: ClusterReport): ShownReport => report;

const seen = chromiumSuite('the cluster page');

let browser: Promise<Browser> | undefined;
seen.after(async () => await (await browser)?.close());

function test(title: string, run: (desk: ClusterDesk) => Promise<void>): void {
  seen(title, async () => {
    await using desk = await openClusterDesk(() => (browser ??= launchChromium()));
    await run(desk);
  });
}

test('asks for the token, rejects a wrong token, and never stores the right token', async (desk) => {
  await using opened = await desk.open({ isOpened: false });
  const { page } = opened;
  for (const wrong of ['not-the-token-of-this-process-at-all', 'no token, a sentence — of words']) {
    await page.getByLabel('Admin token').fill(wrong);
    await page.keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: 'the token is wrong' }).waitFor();
    assert.is(await page.getByLabel('Admin token').getAttribute('aria-invalid'), 'true');
  }
  assert.is(desk.asked(), 0);
  await page.getByLabel('Admin token').fill(ADMIN_TOKEN);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'All shards are served' }).waitFor();
  const kept = `JSON.stringify([location.href, history.state, document.cookie,
    { ...localStorage }, { ...sessionStorage }, document.documentElement.outerHTML])`;
  assert.not.match(String(await page.evaluate(kept)), ADMIN_TOKEN);
  await page.getByRole('button', { name: 'Forget the token' }).click();
  await page.getByLabel('Admin token').waitFor();
  assert.is(await page.getByLabel('Admin token').inputValue(), '');
  const before = desk.asked();
  await page.waitForTimeout(1_500);
  assert.is(desk.asked(), before, 'no further report is requested');
  assertQuiet(opened, ['401 /cluster/report']);
});

test('shows a healthy cluster, and refreshes by itself', async (desk) => {
  await using opened = await desk.open();
  const { page } = opened;
  await page.getByText('2 engines serve 64 shards. 2 limiters serve 64 shards.').waitFor();
  await page.getByRole('row', { name: /engine-1.*serving.*32 shards.*318 records/ }).waitFor();
  await page.getByRole('row', { name: /limiter-2.*1,204 meters.*214\.4 \/s/ }).waitFor();
  desk.report = asOf(clusterReport(), { at: '2026-01-15T12:00:07.000Z' });
  await page.getByText('13:00:07').waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText('Paused. Report of').waitFor();
  await page.waitForTimeout(1_200);
  const before = desk.asked();
  await page.waitForTimeout(1_500);
  assert.is(desk.asked(), before);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('Paused').waitFor({ state: 'detached' });
  assertQuiet(opened);
});

test('shows the alerts first, with their runbook entries', async (desk) => {
  desk.report = troubledReport();
  await using opened = await desk.open();
  const { page } = opened;
  await page.getByRole('heading', { name: 'Callers are affected, or may be soon' }).waitFor();
  const alerts = await page.locator('.alerts li > div > p').allTextContents();
  assert.equal(alerts, [
    '2 shards of the engines have no owner for 12 s.',
    'engine-3 has sent no heartbeat for 14 s, and owns 21 shards.',
    '1,204 records in the journal of engine-2 are not stored yet, the oldest for 5 min.',
  ]);
  await page.getByText('runbook, ShardWithoutOwner').click();
  await page.getByText('Some shards have had no owner', { exact: false }).first().waitFor();
  const nodes = await page.locator('table').nth(1).locator('tbody .node-button').allTextContents();
  assert.equal(nodes, ['engine-3', 'engine-1', 'engine-2']);
  await page.getByText('3 shards move or will').waitFor();
  await page.getByRole('button', { name: 'engine-1' }).click();
  assert.ok((await page.locator('.shard-ring').first().locator('.is-dim').count()) > 10);
  assert.is(await page.locator('.arc-unowned').count(), 2);
  await page.getByText('All 64 shards as a table').first().click();
  await page
    .getByRole('row', { name: /none.*unowned for 12 s/ })
    .first()
    .waitFor();
  assertQuiet(opened);
});

test('reports outdated data when the process is down, and asks for a new token', async (desk) => {
  await using opened = await desk.open();
  const { page } = opened;
  desk.report = null as never;
  await page.route('**/cluster/report', (route) => route.abort());
  await page.getByRole('alert').filter({ hasText: 'This report is out of date.' }).waitFor();
  await page.getByText('No answer for 2', { exact: false }).waitFor();
  await page.getByText('2 engines serve 64 shards', { exact: false }).waitFor();
  desk.report = clusterReport();
  await page.unroute('**/cluster/report');
  await page.getByText('has deleted the token', { exact: false }).waitFor();
  const asked = desk.asked();
  await page.waitForTimeout(1_500);
  assert.is(desk.asked(), asked, 'the token is no longer sent');
  await page.getByRole('button', { name: 'Enter the token again' }).click();
  await page.getByLabel('Admin token').fill(ADMIN_TOKEN);
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByText('2 engines serve 64 shards', { exact: false }).waitFor();
  const answer = { status: 401, body: '{"error":"unauthorized","message":"no"}' };
  await page.route('**/cluster/report', (route) => route.fulfill(answer));
  await page.getByRole('alert').filter({ hasText: 'after a restart' }).waitFor();
  const others = opened.complaints.filter((text) => !/ERR_FAILED/.test(text));
  assert.equal([others, opened.refused], [[], ['401 /cluster/report']]);
});

const MINUTE_MS = 60_000;

test('forgets a token after 15 minutes without use, and keeps the last report', async (desk) => {
  await using opened = await desk.open();
  const { page } = opened;
  await page.clock.install();
  const pause = page.getByRole('button', { name: 'Pause' });
  const goOn = page.getByRole('button', { name: 'Continue' });
  /** Pauses, and waits until the report in flight has arrived. */
  const rest = async () => {
    await pause.click();
    await page.waitForTimeout(1_500);
    return desk.asked();
  };
  const before = await rest();
  await page.clock.fastForward(14 * MINUTE_MS);
  await goOn.click();
  await pause.waitFor();
  while (desk.asked() === before) await page.waitForTimeout(50);
  assert.is(await page.getByRole('alert').count(), 0);

  // Simulates a suspended machine: the clock jumps while timers do not run.
  const asked = await rest();
  await page.clock.setSystemTime(Date.now() + 60 * MINUTE_MS);
  await goOn.click();
  await page.getByText('requested no report for 15 minutes').waitFor();
  await page.getByText('2 engines serve 64 shards', { exact: false }).waitFor();
  await page.getByRole('button', { name: 'Enter the token again' }).click();
  await page.getByLabel('Admin token').fill(ADMIN_TOKEN);
  await page.getByRole('button', { name: 'Open' }).click();

  const again = await rest();
  assert.ok(again > asked);
  await page.clock.fastForward(16 * MINUTE_MS);
  await page.getByText('This page has deleted the token, because another program').waitFor();
  await page.waitForTimeout(1_500);
  assert.is(desk.asked(), again, 'the token is no longer sent');
  assertQuiet(opened);
});

test('shows one node and no error for a process with memory storage', async (desk) => {
  const load = nodeReport('x').load;
  assert.ok('value' in load);
  desk.report = {
    ...{ kind: 'alone', at: '2026-01-15T12:00:00.000Z', release: '1.1.0' },
    ...{ engine: load.value, limiter: { ...load.value, actors: 1, unstored_records: 0 } },
  };
  await using opened = await desk.open();
  await opened.page.getByRole('heading', { name: 'One process, no cluster' }).waitFor();
  await opened.page.getByRole('row', { name: /Limiter.*1 meter.*none/ }).waitFor();
  assertQuiet(opened);
});

test('shows the state of the engines while the state of the limiters is unknown', async (desk) => {
  desk.report = clusterReport({ limiter: { not_known: 'the store gave no answer in 800 ms' } });
  await using opened = await desk.open();
  const { page } = opened;
  await page.getByText('The state of the limiters is unknown: the store gave').waitFor();
  await page.getByText('Not known: the store gave no answer in 800 ms.').waitFor();
  await page.getByRole('row', { name: /engine-2/ }).waitFor();
  assertQuiet(opened);
});

test('escapes the names of nodes', async (desk) => {
  const name = '<img src=x onerror=alert(1)>';
  const engine = { value: serviceReport([nodeReport(name)], 64) };
  desk.report = clusterReport({ engine });
  await using opened = await desk.open();
  await opened.page.getByRole('button', { name }).waitFor();
  assert.is(await opened.page.locator('img').count(), 0);
  assertQuiet(opened);
});

test('has no axe violation, fits the window, and is readable with 1,024 shards', async (desk) => {
  const engines = Array.from({ length: 12 }, (_, index) => nodeReport(`engine-${index}`));
  const large = clusterReport({ engine: { value: serviceReport(engines, 1_024) } });
  for (const report of [troubledReport(), large]) {
    desk.report = asShown(report) as ClusterReport;
    await using opened = await desk.open();
    const { page } = opened;
    // On a thousand rows, axe finds the same violations as on ten but takes minutes.
    if (report !== large) await page.getByText('64 shards as a table').first().click();
    for (const width of [1280, 900, 390]) {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.setViewportSize({ width, height: 800 });
        await page.emulateMedia({ colorScheme });
        const reach = await page.evaluate('document.documentElement.scrollWidth');
        assert.ok(Number(reach) <= width, `${reach} of ${width}`);
        if (width !== 900) assert.equal(await faultsOf(page), [], `${width} ${colorScheme}`);
      }
    }
    assert.equal(opened.complaints, []);
  }
  await using locked = await desk.open({ isOpened: false });
  assert.equal(await faultsOf(locked.page), []);
});

function asOf(report: ClusterReport, change: { readonly at: string }): ClusterReport {
  return { ...report, ...change };
}

seen.run();
