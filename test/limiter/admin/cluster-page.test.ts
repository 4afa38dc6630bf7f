import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { BuiltPages } from '#console/app/pages';
import { clusterPage } from '#startup/overview';
import { adminUnderTest } from '#test/limiter/admin/admin-fixture';

const REPORT = { kind: 'alone', at: '2026-01-15T12:00:00.000Z' };

const bytes = (text: string) => Buffer.from(text);
const PAGES: BuiltPages = {
  document: {
    type: 'text/html; charset=utf-8',
    plain: bytes('<!doctype html>'),
    packed: bytes(''),
  },
  assets: new Map([
    ['a-1.js', { type: 'text/javascript; charset=utf-8', plain: bytes('1'), packed: bytes('') }],
  ]),
};

async function pageUnderTest(pages: BuiltPages | undefined = PAGES) {
  let reports = 0;
  const report = async () => {
    reports += 1;
    return REPORT;
  };
  const port = await adminUnderTest({ cluster: { report, file: clusterPage(pages) } });
  /** Sends a request without the token, like a browser before the user enters the token. */
  const fetched = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
    const answer = await fetch(`${port.address}${path}`, { method, headers });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  return {
    ...port,
    fetched,
    reports: () => reports,
    [Symbol.asyncDispose]: () => port[Symbol.asyncDispose](),
  };
}

const report = suite('the cluster report on the admin port');

report('is JSON for callers with the token, and refused to all others', async () => {
  await using port = await pageUnderTest();
  const { status, data, headers } = await port.send('GET', '/cluster/report');
  assert.equal([status, data, headers['cache-control']], [200, REPORT, 'no-store']);
  for (const authorization of ['', 'Bearer another-token-of-some-length-0000000000000']) {
    assert.is((await port.raw('GET', '/cluster/report', { authorization }, '')).status, 401);
  }
  assert.is(port.reports(), 1);
});

report('is refused to pages of another origin, and for another host name', async () => {
  await using port = await pageUnderTest();
  for (const headers of [
    { origin: 'https://evil.example' },
    { origin: 'http://localhost:3000' },
    { origin: 'null' },
    { host: 'evil.example' },
    { host: '127.0.0.1.evil.example', origin: 'http://127.0.0.1.evil.example' },
  ]) {
    const { status } = await port.raw('GET', '/cluster/report', headers as never, '');
    assert.is(status, 403, JSON.stringify(headers));
  }
  assert.is(port.reports(), 0);
  const { origin } = new URL(port.address);
  assert.is(
    (await port.raw('GET', '/cluster/report', { origin }, '')).status,
    200,
    'the page itself has access',
  );
});

report('is read-only', async () => {
  await using port = await pageUnderTest();
  for (const method of ['POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS']) {
    const { status } = await port.fetched('/cluster/report', {}, method);
    assert.ok(status >= 400, method);
  }
  assert.is((await port.send('POST', '/cluster/report', {})).status, 404);
  assert.is(port.reports(), 0);
});

const page = suite('the cluster page on the admin port');

page('is served without the token, with a security policy, and uncached', async () => {
  await using port = await pageUnderTest();
  for (const [path, type, text] of [
    ['/cluster', 'text/html; charset=utf-8', '<!doctype html>'],
    ['/cluster/assets/a-1.js', 'text/javascript; charset=utf-8', '1'],
  ] as const) {
    const answer = await port.fetched(path, { origin: port.address });
    assert.equal(
      [answer.status, answer.headers.get('content-type'), answer.text],
      [200, type, text],
    );
    const policy = answer.headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'/);
    assert.not.match(policy, /unsafe/);
    assert.is(answer.headers.get('cache-control'), 'no-store');
    assert.is(answer.headers.get('x-content-type-options'), 'nosniff');
    assert.is(answer.headers.get('set-cookie'), null);
    assert.is(answer.headers.get('access-control-allow-origin'), null);
  }
});

page('is refused under another host name, like every request', async () => {
  await using port = await pageUnderTest();
  for (const path of ['/cluster', '/cluster/assets/a-1.js']) {
    const { status } = await port.raw('GET', path, { host: 'evil.example:8001' }, '');
    assert.is(status, 403, path);
  }
});

page('serves no other files, whatever the path', async () => {
  await using port = await pageUnderTest();
  for (const path of [
    ...['/cluster/', '/cluster/assets/', '/cluster/assets/b.js', '/cluster/index.html'],
    ...['/cluster/assets/..%2f..%2fpackage.json', '/cluster/assets/a-1.js/x', '/cluster/report/x'],
  ]) {
    assert.is((await port.fetched(path)).status, 404, path);
  }
  assert.is((await port.fetched('/clusters')).status, 401, 'a different route');
  assert.is((await port.fetched('/cluster', {}, 'POST')).status, 401);
});

page('is a line with build instructions if it was not built', async () => {
  await using port = await pageUnderTest(undefined);
  const unbuilt = clusterPage(undefined)('/cluster');
  assert.match(String(unbuilt?.body), /^The page .* `npm run build:console`\.\n$/);
  assert.ok(port.address);
});

for (const each of [report, page]) each.run();
