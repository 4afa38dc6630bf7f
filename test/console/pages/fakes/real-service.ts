import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { PASSWORD } from '#test/console/console-fixture';
import { openPage, type WatchedPage } from '#test/console/pages/fakes/pages-fixture';
import { type ProcessRun, runMain } from '#test/support/process-run';
import { launchChromium } from '#test/support/servers/chromium';

/** Sends an API request with a key. Returns `data`; any other status than 2xx fails the test. */
type Send = (
  method: string,
  path: string,
  body?: object,
) => Promise<Record<string, unknown> & { readonly id: string }>;

/** A running service in one process, and a page of its console after the first sign-in. */
export type RealService = {
  readonly run: ProcessRun;
  readonly opened: WatchedPage;
  readonly page: Page;
  /** Origin of the console. */
  readonly origin: string;
  /** Address of the API, with `/v1`. */
  readonly api: string;
  /** API key of the local account. */
  readonly key: string;
  readonly send: Send;
};

/** Starts a service, and sets up its first owner with the printed link. */
export async function openRealService(closing: AsyncDisposableStack): Promise<RealService> {
  const run = runMain(['standalone'], { SERVICE_LOCAL_ACCOUNT: 'true' });
  closing.defer(() => void run.child.kill('SIGTERM'));
  await run.says(/Ctrl-C/);
  const printed = (pattern: RegExp) => pattern.exec(run.stdout())?.[1] ?? '';
  const link = new URL(printed(/Console {2}(\S+)/));
  const api = printed(/API {6}(http:\S+\/v1)/);
  const key = printed(/API key {2}(\S+)/);
  const browser = await launchChromium();
  closing.defer(() => browser.close());
  const { origin, pathname, hash } = link;
  const opening = { origin, path: `${pathname}${hash}`, cookies: [], options: undefined };
  const opened = closing.use(await openPage(browser, opening));
  const { page } = opened;
  await page.getByLabel('Email').fill('ada@example.com');
  await page.getByLabel('Your name').fill('Ada');
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Set up' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  return { run, opened, page, origin, api, key, send: senderOf(api, key) };
}

function senderOf(api: string, key: string): Send {
  return async (method, path, body) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const init =
      body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
    const answer = await fetch(`${api}${path}`, init);
    const parsed = (await answer.json()) as { data: Awaited<ReturnType<Send>> };
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${JSON.stringify(parsed)}`);
    return parsed.data;
  };
}
