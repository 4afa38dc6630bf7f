import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ENDPOINTS } from '#edge/endpoints/all';
import { requestText, sendRaw } from '#test/support/calls/raw-http';
import { observationAt, openScene } from '#test/support/calls/scene';
import { metricValues } from '#test/support/metric-values';

const { service, caller, close } = await openScene();
const auth = `Authorization: Bearer ${caller.key}`;

const listener = suite('the API port');

for (const path of ['/metrics', '/health/ready', '/docs', '/redoc', '/openapi.json', '/accounts']) {
  listener(`does not serve ${path} by default`, async () => {
    const answer = await fetch(`${service.origin}${path}`);
    assert.is(answer.status, 404);
    assert.is(await answer.text(), 'Not Found\n');
  });
}

listener('does not speak gRPC', async () => {
  const headers = [auth, 'Content-Type: application/grpc', 'TE: trailers'];
  for (const target of [
    '/identity_engine.v1.Engine/Stream',
    '/grpc.health.v1.Health/Check',
    '/v1/identity_engine.v1.Engine/Stream',
  ]) {
    assert.is((await sendRaw(service, requestText('POST', target, headers, 'x'))).status, 404);
  }
});

listener('ignores headers that claim another address or path', async () => {
  for (const line of [
    'X-Original-URL: /v1/instances',
    'X-Rewrite-URL: /v1/instances',
    'X-HTTP-Method-Override: DELETE',
    'X-Forwarded-Prefix: /admin',
    'X-Forwarded-Host: evil.example',
  ]) {
    const answer = await sendRaw(service, requestText('GET', '/v1/personas', [auth, line]));
    assert.is(answer.status, 200);
    assert.is(answer.body.pagination.total, 12, line);
  }
});

const labels = suite('a run of requests with arbitrary words');

/** Requests per run. */
const REQUESTS = 400;

const METHODS = ['GET', 'POST', 'PATCH', 'DELETE', 'PUT', 'TRACE', 'PROPFIND', 'QUERY', 'OPTIONS'];
const ROUTES = new Set([...ENDPOINTS.map(({ path }) => path), 'refused', 'unknown']);
const COUNTED = new Set(['GET', 'POST', 'PATCH', 'DELETE', '_OTHER']);

labels('adds no metric series to those of an earlier run with other words', async () => {
  const id = await caller.createInstance();
  await fuzz(id, 1);
  const before = [...(await metricValues(service)).keys()].filter(isOwn);
  await fuzz(id, 2);
  const after = [...(await metricValues(service)).keys()].filter(isOwn);
  assert.equal(after.toSorted(), before.toSorted());
});

labels('adds only metric labels from the closed sets of methods and routes', async () => {
  for (const name of (await metricValues(service)).keys()) {
    const [, method] = /http_request_method="([^"]*)"/.exec(name) ?? [];
    const [, route] = /http_route="([^"]*)"/.exec(name) ?? [];
    if (method !== undefined) assert.ok(COUNTED.has(method), name);
    if (route !== undefined) assert.ok(ROUTES.has(route), name);
  }
});

labels('leaves the service able to answer', async () => {
  assert.is((await caller.send('GET', '/personas')).status, 200);
});

labels.after(close);

for (const each of [listener, labels]) each.run();

/** Sends the same kinds of requests in every run, but with other words in each run. */
async function fuzz(id: string, run: number): Promise<void> {
  for (let i = 0; i < REQUESTS; i += 1) {
    const word = `w${run}x${i}`;
    const target = [
      `/v1/${word}`,
      `/v1/instances/${word}`,
      `/v1/instances/${id}`,
      `/v1/instances/${id}/${word}`,
      `/v1/instances/${id}/snapshot`,
      `/v1/instances/${word}/process`,
      `/v1/instances?${word}=1`,
      `/v1/personas/${word}`,
      `/v1/personas?version=${word}`,
      `/v1/%zz${word}`,
      `/${word}`,
    ][i % 11];
    const method = METHODS[Math.floor(i / 11) % METHODS.length] ?? 'GET';
    if (method === 'DELETE' && target?.includes(id)) continue;
    const key = i % 7 === 0 ? `Authorization: Bearer ${word}` : auth;
    const type = i % 5 === 0 ? `application/${word}` : 'application/json';
    const body = i % 3 === 0 ? word : JSON.stringify(observationAt(0, { [word]: word }));
    const headers = [key, `Content-Type: ${type}`, `X-Request-Id: ${word}`];
    await sendRaw(service, requestText(method, target ?? '/', headers, body));
  }
}

/** Whether a metric series depends only on the requests, not on the process or its load. */
function isOwn(name: string): boolean {
  if (/_bucket|"503"|unavailable|edge_fail_closed/.test(name)) return false;
  return /^(http_|limiter_|edge_|identity_|rpc_)/.test(name);
}
