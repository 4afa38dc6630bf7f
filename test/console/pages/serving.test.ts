import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildConsole } from '#console/app/app';
import { unchanging } from '#stdlib/files';
import { openPages, type TestPages } from '#test/console/pages/fakes/pages-fixture';

const serving = suite('the files of the pages');

let pages: TestPages;

serving.before(async () => {
  pages = await openPages(() => Promise.reject(new Error('no browser is needed')));
});

serving.after(async () => await pages[Symbol.asyncDispose]());

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${pages.origin}${path}`, { headers });

/** Status and headers of an answer. The body is discarded. */
async function headOf(path: string, sent: Record<string, string>) {
  const { status, headers, body } = await get(path, sent);
  await body?.cancel();
  return { status, headers };
}

async function namesOfAssets(): Promise<string[]> {
  const document = await (await get('/')).text();
  return [...document.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? '');
}

serving('include one document, which every path returns and no cache stores', async () => {
  const first = await (await get('/')).text();
  assert.match(first, /^<!doctype html>\n<html lang="en">/);
  assert.not.match(first, /<script>|<style|style=|\son\w+=/, 'the document has no inline code');
  for (const path of ['/keys', '/no/such/page', '/audit?action=key', '/apiary']) {
    const response = await get(path);
    const { headers } = response;
    assert.is(response.status, 200, path);
    assert.is(headers.get('content-type'), 'text/html; charset=utf-8');
    assert.is(headers.get('cache-control'), 'no-store');
    const policy = headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
    assert.not.match(policy, /unsafe/);
    assert.is(await response.text(), first);
  }
});

serving('include scripts, a style sheet and an icon, which are cached forever', async () => {
  const paths = await namesOfAssets();
  const names = new Set(paths.map((path) => path.replace(/^\/assets\/|-[A-Z0-9]{8}/g, '')));
  // Shared scripts come before the script that needs them.
  assert.equal([...names], ['icon.svg', 'theme-early.js', 'style.css', 'chunk.js', 'main.js']);
  for (const path of paths) {
    const { headers, status } = await headOf(path, { 'accept-encoding': 'gzip' });
    assert.is(status, 200, path);
    assert.is(headers.get('cache-control'), 'public, max-age=31536000, immutable');
    assert.is(headers.get('content-encoding'), 'gzip');
    assert.is(headers.get('vary'), 'accept-encoding');
    assert.is(headers.get('x-content-type-options'), 'nosniff');
  }
});

serving('are compressed only for clients that accept compression', async () => {
  const [, , script = ''] = await namesOfAssets();
  for (const refusing of ['identity', 'br', 'gzip;q=0', 'gzip;q=0.0, br']) {
    const { headers } = await headOf(script, { 'accept-encoding': refusing });
    assert.is(headers.get('content-encoding'), null, refusing);
  }
});

serving('contain at most 150 kB of compressed script and style for the first page', async () => {
  let bytes = 0;
  for (const path of await namesOfAssets()) {
    const { headers } = await headOf(path, { 'accept-encoding': 'gzip' });
    bytes += Number(headers.get('content-length'));
  }
  console.log(`the first page has ${bytes} bytes`);
  assert.ok(bytes > 10_000 && bytes <= 150_000, `${bytes} bytes`);
});

serving('load the command palette only when it opens', async () => {
  const scripts = (await namesOfAssets()).filter((path) => path.endsWith('.js'));
  const texts = await Promise.all(scripts.map(async (path) => await (await get(path)).text()));
  assert.is(
    texts.some((text) => text.includes('Page, action, or name of an instance')),
    false,
  );
  const [name = ''] = /palette-[A-Z0-9]{8}\.js/.exec(texts.join('')) ?? [];
  const { status } = await headOf(`/assets/${name}`, {});
  assert.is(status, 200);
});

serving('are not sent for unknown paths of the API or for unknown files', async () => {
  for (const path of [
    '/api',
    '/api/',
    '/api/nothing',
    '/api/nothing?x=1',
    '/assets/main-OLD.js',
    '/assets/',
  ]) {
    const response = await get(path);
    assert.is(response.status, 404, path);
    assert.match(await response.text(), /"error":"not_found"/);
    assert.is(response.headers.get('cache-control'), 'no-store');
  }
  const { status, body } = await fetch(`${pages.origin}/`, {
    method: 'PUT',
    headers: { origin: pages.origin },
  });
  await body?.cancel();
  assert.not.equal(status, 200);
});

serving('are replaced by a line with the build command until they are built', async () => {
  const config = {
    ...{ origin: 'http://localhost', trustedProxies: [], secrets: undefined },
    ...{ clusterSecrets: unchanging(['of no edge']), localAccountId: undefined },
  };
  const { app } = buildConsole(config, pages.desk.ports, undefined);
  const response = await app.inject({ url: '/', headers: { host: 'localhost' } });
  assert.is(response.statusCode, 200);
  assert.is(response.headers['content-type'], 'text/plain; charset=utf-8');
  assert.match(response.body, /^The pages .* `npm run build:console`\.\n$/);
  await app.close();
});

serving.run();
