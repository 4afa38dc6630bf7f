import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { PASSWORD } from '#test/console/console-fixture';
import { assertQuiet } from '#test/console/pages/fakes/browser-suite';
import { openPage } from '#test/console/pages/fakes/pages-fixture';
import { figure, openTab, untilCycle } from '#test/console/pages/instance/live-page';
import { runMain } from '#test/support/process-run';
import { chromiumSuite, launchChromium } from '#test/support/servers/chromium';

/** Maximum delay until the page shows an observation, in milliseconds. Allows for other load. */
const SHOWN_MS_MAX = 5_000;

const real = chromiumSuite('an instance of a running service');

type Post = (at: string, body: object) => Promise<Record<string, unknown>>;

/** Creates an API key on the page. Returns a function that sends API requests with this key. */
async function programOf(page: Page, api: string): Promise<Post> {
  const { key } = (await page.evaluate(`fetch('/api/keys', {
    method: 'POST', headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'program', scope: 'full' }),
  }).then((answer) => answer.json()).then(({ data }) => data)`)) as { key: string };
  return async (at, body) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    const answer = await fetch(`${api}/instances${at}`, init);
    assert.ok(answer.ok, `${answer.status}`);
    return ((await answer.json()) as { data: Record<string, unknown> }).data;
  };
}

async function signUp(page: Page): Promise<void> {
  await page.getByLabel('Email').fill('ada@example.com');
  await page.getByLabel('Your name').fill('Ada');
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Set up' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
}

/** Sends an observation through the API and one from the page, and simulates one. */
async function observe(page: Page, post: (body: object) => Promise<unknown>): Promise<void> {
  const began = performance.now();
  await post({ mode_target: 'ORDER', signal_strength: 0.7, context: { turn: 1 } });
  await untilCycle(page, 1);
  const shownMs = performance.now() - began;
  console.log(`an observation by the API is shown after ${shownMs.toFixed(0)} ms`);
  assert.ok(shownMs < SHOWN_MS_MAX, `${shownMs} ms`);
  assert.is(await figure(page, 'Model'), '1.1');
  await page.getByText('Model 1.1 changes a list after three consecutive observations').waitFor();
  await openTab(page, 'History');
  await page.getByRole('row', { name: /^1 .* Context of cycle 1: / }).waitFor();
  await openTab(page, 'Try');
  await page.getByRole('textbox', { name: 'Context' }).fill('{"turn": 2}');
  await page.getByRole('button', { name: 'Send, for 1 cycle' }).click();
  await page.getByText(/^(Cycle 2:|Throttled)/).waitFor();
  await page.getByRole('button', { name: 'Try it on a copy' }).click();
  await page.getByText('The instance did not change.').waitFor();
}

/** Reads the course, an exact past state of a replay, and forks from this state. */
async function readCourse(page: Page, cycles: number): Promise<void> {
  await openTab(page, 'Course');
  const chart = page.getByRole('slider', { name: 'Modes, energy and stability by cycle' });
  await page.getByText(new RegExp(`, ${cycles} observations, `)).waitFor();
  await page.getByText('Loading …', { exact: true }).waitFor({ state: 'detached' });
  await page.getByLabel('Cycle', { exact: true }).fill('37');
  await page.getByRole('button', { name: 'Go to cycle' }).click();
  await page.getByRole('region', { name: 'Drift at cycle 37' }).waitFor();
  await page.getByText('How you work just now').first().waitFor();
  await chart.focus();
  await page.keyboard.press('Home');
  await page.getByRole('region', { name: 'Drift at cycle 0' }).waitFor();
  await page.getByRole('button', { name: 'Compare with now' }).click();
  await page.getByRole('region', { name: 'Comparison of cycle 0 and now' }).waitFor();
  await page.getByRole('button', { name: 'Fork from here …' }).click();
  await page.getByLabel('Name of the new instance').fill('Grace again');
  await page.getByRole('button', { name: 'Fork', exact: true }).click();
  await page.getByRole('link', { name: 'Open Grace again' }).click();
  await page.getByRole('heading', { name: 'Grace again', exact: true }).waitFor();
  await untilCycle(page, 0);
  await page.goBack();
  await page.getByRole('heading', { name: 'Grace', exact: true }).waitFor();
}

async function confirm(page: Page, open: string, action: string): Promise<void> {
  await page.getByRole('button', { name: open }).click();
  await page.getByLabel('Type the name of the instance').fill('Grace');
  await page.getByRole('button', { name: action, exact: true }).click();
}

real('is followed, observed, simulated, reset and deleted on its page', async () => {
  await using closing = new AsyncDisposableStack();
  const run = runMain(['standalone'], { SERVICE_LOCAL_ACCOUNT: 'true' });
  closing.defer(() => void run.child.kill('SIGTERM'));
  await run.says(/Ctrl-C/);
  const [, origin = '', path = ''] =
    /Console {2}(http:\/\/[^/]+)(\/#\/set-up\/\S+)/.exec(run.stdout()) ?? [];
  const [, api = ''] = /API {6}(http:\S+\/v1)/.exec(run.stdout()) ?? [];
  const browser = await launchChromium();
  closing.defer(() => browser.close());
  await using opened = await openPage(browser, { origin, path, cookies: [], options: undefined });
  const { page } = opened;
  await signUp(page);
  const post = await programOf(page, api);
  const config = { mode_strengths: { order: 0.8 } };
  const { id } = await post('', { name: 'Grace', initial_config: config });

  await page.goto(`${origin}/instances/${id}`);
  await page.getByText('live', { exact: true }).waitFor();
  await untilCycle(page, 0);
  await observe(page, (body) => post(`/${id}/process`, body));

  await openTab(page, 'Settings');
  await confirm(page, 'Reset …', 'Reset');
  await untilCycle(page, 0);
  assert.is(await figure(page, 'Generation'), '2');
  await openTab(page, 'History');
  await page.getByText('No observation in this generation yet').waitFor();
  const observation = { mode_target: 'ORDER', signal_strength: 0.5 };
  await post(`/${id}/process/batch`, { observations: new Array(100).fill(observation) });
  await untilCycle(page, 100);
  await page.getByText('100 observations of this generation').waitFor();
  await readCourse(page, 100);
  await openTab(page, 'Settings');
  await confirm(page, 'Delete …', 'Delete permanently');
  await page.getByText('Grace was deleted.').waitFor();
  await page.getByRole('heading', { name: 'Fleet' }).waitFor();
  assertQuiet(opened, opened.refused.length === 0 ? [] : ['401 /api/me']);
});

real.run();
