import * as assert from 'uvu/assert';
import { assertQuiet } from '#test/console/pages/fakes/browser-suite';
import { type Hooks, hooksSuite } from '#test/console/pages/webhooks/hooks-suite';
import { until } from '#test/console/webhook-receiver';

const PATH = '/webhooks/events';

/** Opens the log, and waits until it is live. */
async function openLog({ pages, owner }: Hooks, query = '') {
  const opened = await pages.open(`${PATH}${query}`, owner);
  await opened.page.getByText('live', { exact: true }).waitFor();
  return opened;
}

/** Waits until the log of the account has `count` events. */
async function untilLogged({ pages, owner }: Hooks, count: number): Promise<void> {
  await until(pages.desk, async () => {
    const { body } = await owner.expect(200, 'GET', '/events?limit=1000');
    return body.data.length >= count;
  });
}

const rename = (owner: Hooks['owner'], id: string, name: string) =>
  owner.expect(200, 'PATCH', `/instances/${id}`, { name });

const log = hooksSuite('the event log');

log('shows the newest event first, and new events without a click', async (hooks) => {
  const { owner } = hooks;
  const first = await hooks.instance();
  await untilLogged(hooks, 1);
  await using opened = await openLog(hooks);
  const { page } = opened;
  const rows = page.locator('.event-log tbody tr');
  await rows.first().getByText('Created').waitFor();
  await rename(owner, first, 'Ada');
  await untilLogged(hooks, 2);
  await rows.first().getByText('Renamed').waitFor();
  assert.is(await rows.count(), 2);
  await rows.first().getByRole('link', { name: first }).click();
  assert.is(new URL(page.url()).pathname, `/instances/${first}`);
});

log('keeps the wanted types in the address', async (hooks) => {
  const { owner } = hooks;
  const id = await hooks.instance();
  await rename(owner, id, 'Ada');
  await untilLogged(hooks, 2);
  await using opened = await openLog(hooks, '?types=renamed');
  const { page } = opened;
  const titles = page.locator('.event-log .row-name');
  await titles.first().waitFor();
  assert.equal(await titles.allTextContents(), ['Renamed']);
  await page.getByRole('link', { name: 'Created Show these events' }).click();
  await page.getByText('2 events on this page').waitFor();
  assert.is(new URL(page.url()).search, '?types=created,renamed');
  await page.goBack();
  await page.getByText('1 event on this page').waitFor();
  await page.getByRole('link', { name: 'Renamed Hide these events' }).click();
  await page.getByText('2 events on this page').waitFor();
  assert.is(new URL(page.url()).search, '', 'without a type, the usual types');
  assertQuiet(opened);
});

log('holds new events back while it is paused', async (hooks) => {
  const { owner } = hooks;
  const id = await hooks.instance();
  await untilLogged(hooks, 1);
  await using opened = await openLog(hooks);
  const { page } = opened;
  await page.getByRole('button', { name: 'Pause' }).click();
  await rename(owner, id, 'Ada');
  await untilLogged(hooks, 2);
  const button = page.getByRole('button', { name: 'Continue, 1 new event' });
  await button.waitFor();
  assert.is(await page.locator('.event-log tbody tr').count(), 1);
  await button.click();
  await page.getByText('2 events on this page').waitFor();
  assertQuiet(opened);
});

log('loads older events, each once, and says where the log ends', async (hooks) => {
  const { owner } = hooks;
  const id = await hooks.instance();
  for (let count = 0; count < 119; count += 1) await rename(owner, id, `Iris ${count}`);
  await untilLogged(hooks, 120);
  await using opened = await openLog(hooks);
  const { page } = opened;
  for (const count of [50, 100]) {
    await page.getByText(`${count} events on this page`).waitFor();
    await page.getByRole('button', { name: 'Load older events' }).click();
  }
  await page.getByText('120 events on this page').waitFor();
  await page.getByText('The page has no older events.').waitFor();
  const last = page.locator('.event-log tbody tr').last();
  assert.match(await last.innerText(), /Created/);
  assertQuiet(opened);
});

// Without the notice, a person would take the log for complete.
log('says that events are missing', async (hooks) => {
  await hooks.instance();
  await untilLogged(hooks, 1);
  await using opened = await hooks.pages.open('/webhooks', hooks.owner);
  const { page } = opened;
  await page.route('**/api/events?*', (route) => {
    if (route.request().headers()['accept'] !== 'text/event-stream') return route.continue();
    const body = 'retry: 60000\n\nevent: gap\ndata: {"reason":"cursor_expired"}\n\n';
    return route.fulfill({ status: 200, contentType: 'text/event-stream', body });
  });
  await page.getByRole('link', { name: 'Event log', exact: true }).click();
  await page.getByText('Events are missing here').waitFor();
  await page.getByText('Created').first().waitFor();
  assertQuiet(opened);
});

log('says that older events are no longer kept', async (hooks) => {
  const { owner } = hooks;
  const id = await hooks.instance();
  for (let count = 0; count < 59; count += 1) await rename(owner, id, `Iris ${count}`);
  await untilLogged(hooks, 60);
  await using opened = await openLog(hooks);
  const { page } = opened;
  await page.route('**/api/events?*cursor=*', (route) => {
    const details = { field: 'cursor', reason: 'cursor_expired' };
    const body = { error: 'invalid_request', message: 'cursor: expired', details };
    return route.fulfill({ status: 410, json: body });
  });
  await page.getByRole('button', { name: 'Load older events' }).click();
  await page.getByText('Older events are no longer kept').waitFor();
  assert.is(await page.locator('.event-log tbody tr').count(), 50, 'the events stay');
});

log('of an account without events names the next step', async (hooks) => {
  await using opened = await openLog(hooks, '?types=deleted');
  await opened.page.getByText('No event of these types in the last 7 days').waitFor();
  assertQuiet(opened);
});

log.run();
