import type { Browser, Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ENDPOINTS } from '#edge/endpoints/all';
import { newCaller } from '#test/support/calls/caller';
import { chromiumSuite, launchChromium } from '#test/support/servers/chromium';
import { type Service, startStandalone } from '#test/support/servers/service';

/*
 * The documentation pages in a real browser. Without a browser these tests are skipped, except on
 * CI, where a missing browser is a failure.
 */

const TAGS = ['Instances', 'Engine', 'Test', 'Personas'];

/** Maximum time until a page shows an element, in milliseconds. */
const SHOWN_MS_MAX = 20_000;

/** A page and its problems: warnings, errors and requests to other hosts. */
type Watched = { readonly page: Page; readonly problems: readonly string[] };

const startDocumented = () => startStandalone({ SERVICE_DOCS_ENABLED: 'true' });

const inBrowser = chromiumSuite('when the documentation is enabled, in a browser');
let service: Service;
let browser: Browser | undefined;

inBrowser.before(async () => {
  service = await startDocumented();
});

inBrowser.after(async () => {
  await browser?.close();
  await service[Symbol.asyncDispose]();
});

inBrowser('/docs shows all endpoints without a problem', async () => {
  await using opened = await open('/docs');
  const { page, problems } = opened;
  await page.locator('.opblock').first().waitFor();
  assert.is(await page.locator('.opblock').count(), ENDPOINTS.length);
  for (const tag of TAGS) {
    assert.ok(await page.locator(`.opblock-tag[data-tag="${tag}"]`).isVisible(), tag);
  }
  assert.equal(problems, []);
});

inBrowser(
  '/docs allows a user to authorize and to try a GET and a POST, which answer 200 and 201',
  async () => {
    const caller = await newCaller(service);
    await using opened = await open('/docs');
    const { page, problems } = opened;
    await page.locator('.btn.authorize').first().click();
    await page.locator('.auth-container input').fill(caller.key);
    await page.locator('.auth-btn-wrapper button.authorize').click();
    await page.locator('.auth-btn-wrapper button.btn-done').click();
    assert.is(await tried(page, '#operations-Personas-listPersonas'), '200');
    assert.is(await tried(page, '#operations-Instances-createInstance'), '201');
    assert.equal(problems, []);
    const { body } = await caller.send('GET', '/instances');
    assert.is(body.pagination.total, 1);
    assert.is(body.data[0].name, 'Ada');
  },
);

inBrowser('/redoc shows all endpoints without a problem', async () => {
  await using opened = await open('/redoc');
  const { page, problems } = opened;
  await page.locator('h1', { hasText: 'Identity Engine Service' }).waitFor();
  assert.is(await page.locator('div[id^="tag/"][id*="/operation/"]').count(), ENDPOINTS.length);
  assert.ok(await page.locator('h2', { hasText: 'Process one observation' }).isVisible());
  assert.equal(problems, []);
});

inBrowser.run();

const enabled = suite('when the documentation is enabled');

enabled('/openapi.json is the committed document, as JSON', async () => {
  await using documented = await startDocumented();
  const response = await fetch(`${documented.origin}/openapi.json`);
  assert.is(response.status, 200);
  assert.is(response.headers.get('content-type'), 'application/json; charset=utf-8');
  assert.match(await response.text(), /^{\s*"openapi": "3\.1\.0"/);
});

enabled('a page allows only GET, and forbids all content from other hosts', async () => {
  await using documented = await startDocumented();
  for (const path of ['/docs', '/redoc', '/openapi.json']) {
    const response = await fetch(`${documented.origin}${path}`);
    assert.match(response.headers.get('content-security-policy') ?? '', /^default-src 'none'/);
    assert.is(response.headers.get('x-content-type-options'), 'nosniff');
    await response.body?.cancel();
    for (const method of ['HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS']) {
      assert.is(await statusOf(documented, path, method), 404, `${method} ${path}`);
    }
  }
  for (const path of ['/docs/', '/docs/../package.json', '/docs/package.json', '/redoc/x']) {
    assert.is(await statusOf(documented, path), 404, path);
  }
});

enabled.run();

const disabled = suite('when the documentation is not enabled');

disabled('all its pages and files are answered with a plain 404', async () => {
  await using plain = await startStandalone();
  for (const path of ['/docs', '/redoc', '/openapi.json', '/docs/swagger-ui.css']) {
    const response = await fetch(`${plain.origin}${path}`);
    assert.is(response.status, 404, path);
    assert.is(response.headers.get('content-type'), 'text/plain; charset=utf-8');
    assert.is(await response.text(), 'Not Found\n');
  }
});

disabled.run();

async function statusOf({ origin }: Service, path: string, method = 'GET'): Promise<number> {
  const response = await fetch(`${origin}${path}`, { method });
  await response.body?.cancel();
  return response.status;
}

/** Opens a page and records its problems. */
async function open(path: string): Promise<Watched & AsyncDisposable> {
  browser ??= await launchChromium();
  const page = await browser.newPage();
  page.setDefaultTimeout(SHOWN_MS_MAX);
  const problems: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('request', (request) => {
    const isOurs = new RegExp(`^(blob:)?${service.origin}/|^data:`).test(request.url());
    if (!isOurs) problems.push(`requested ${request.url()}`);
  });
  await page.goto(`${service.origin}${path}`);
  return { page, problems, [Symbol.asyncDispose]: () => page.close() };
}

/** Executes an endpoint on the page, and returns the status that the page shows. */
async function tried(page: Page, selector: string): Promise<string> {
  const block = page.locator(selector);
  await block.locator('.opblock-summary-control').click();
  await block.locator('.try-out__btn').click();
  await block.locator('button.execute').click();
  const status = block.locator('.live-responses-table .response-col_status').last();
  await status.waitFor();
  return (await status.textContent()) ?? '';
}
