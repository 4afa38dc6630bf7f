import { execFile } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newCaller, send } from '#test/support/calls/caller';
import { metricValues } from '#test/support/metric-values';
import { type ProcessRun, runMain } from '#test/support/process-run';
import { type Service, startProcesses, startStandalone } from '#test/support/servers/service';

/** Maximum duration of a stop without slow calls in flight, in milliseconds. */
const STOP_MS_MAX = 5_000;

const until = async (isSo: () => Promise<boolean>): Promise<void> => {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve));
};

/** Sends a signal. Returns the exit code and the duration. */
async function stopped(service: Service, name: string, signal: 'SIGTERM' | 'SIGINT') {
  const child = service.processes.get(name);
  assert.ok(child, name);
  const startedMs = performance.now();
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  child.kill(signal);
  return { code: await ended, tookMs: performance.now() - startedMs };
}

const stop = suite('when a process is asked to stop');

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  stop(
    `a standalone process ends with 0 within 5 s after ${signal}, even with connected callers`,
    async () => {
      const service = await startStandalone();
      const caller = await newCaller(service);
      assert.is((await caller.send('GET', '/personas')).status, 200);
      const idle = await opened(service);
      const { code, tookMs } = await stopped(service, 'standalone', signal);
      assert.is(code, 0, service.log());
      assert.ok(tookMs < STOP_MS_MAX, `${tookMs} ms`);
      const lines = service
        .log()
        .split('\n')
        .filter((line) => line !== '');
      // Account changes, such as the new caller, are always logged.
      const expected = new Set(['starting', 'ready', 'account administration']);
      for (const line of lines) assert.ok(expected.has(JSON.parse(line).msg), line);
      idle.destroy();
    },
  );
}

stop('edge, engine, limiter and courier exit with 0 within 5 s, in any order', async () => {
  for (const order of [
    ['edge', 'limiter', 'courier', 'engine'],
    ['engine', 'courier', 'limiter', 'edge'],
  ]) {
    const service = await startProcesses();
    const caller = await newCaller(service);
    assert.is((await caller.send('GET', '/instances')).status, 200);
    for (const name of order) {
      const { code, tookMs } = await stopped(service, name, 'SIGTERM');
      assert.is(code, 0, service.log());
      assert.ok(tookMs < STOP_MS_MAX, `${name}: ${tookMs} ms`);
    }
  }
});

stop('the process answers calls in flight first', async () => {
  const service = await startStandalone();
  const caller = await newCaller(service);
  const body = JSON.stringify({ name: 'Ada' });
  const socket = await opened(service);
  const head = [
    'POST /v1/instances HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${caller.key}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 5)}`);
  const unfinished = async () => (await metricValues(service)).get('edge_unfinished_bodies') ?? 0;
  await until(async () => (await unfinished()) === 1);
  const ending = stopped(service, 'standalone', 'SIGTERM');
  // While the process closes, probes get "not ready".
  const ready = new URL('/health/ready', service.metricsUrl);
  await until(async () => (await fetch(ready)).status === 503);
  socket.write(body.slice(5));
  const answer = await textOf(socket);
  assert.match(answer, /^HTTP\/1\.1 201 Created\r\n/);
  assert.match(answer, /"name":"Ada"/);
  const { code, tookMs } = await ending;
  assert.is(code, 0);
  assert.ok(tookMs < STOP_MS_MAX, `${tookMs} ms`);
});

stop('a second signal ends the process immediately', async () => {
  const run = runMain(['standalone']);
  await run.says(/Ctrl-C/);
  const socket = await openedAt(addressIn(run, /API +(http:\S+)\/v1/));
  socket.write('POST /v1/instances HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n{');
  run.child.kill('SIGTERM');
  run.child.kill('SIGINT');
  run.child.kill('SIGINT');
  assert.ok([0, 1].includes(Number(await run.ended)));
  socket.destroy();
});

const welcome = suite('when a standalone service starts');

welcome('the printed curl command works as pasted, even when repeated', async () => {
  const run = runMain(['standalone'], {
    SERVICE_LOCAL_ACCOUNT: 'true',
    SERVICE_DOCS_ENABLED: 'true',
  });
  await run.says(/Ctrl-C/);
  const text = run.stdout();
  assert.match(text, /^ {2}API key {2}svc_sk_[0-9A-Za-z]{50}$/m);
  assert.match(text, /^ {2}Docs {5}http:\S+\/docs {3}http:\S+\/redoc/m);
  const command = /^ {2}curl (.|\n)*?(?=\n\n)/m.exec(text)?.[0] ?? '';
  for (const _ of ['once', 'again']) {
    const { stdout } = await promisify(execFile)('sh', ['-c', command]);
    const { data } = JSON.parse(stdout);
    assert.match(data.id, /^inst_[0-9a-f]{16}$/);
    assert.is(data.name, 'Ada');
  }
  await end(run);
});

welcome(
  'without a local account, no key, no curl command and no link to disabled docs is printed',
  async () => {
    const run = runMain(['standalone']);
    await run.says(/Ctrl-C/);
    assert.not.match(run.stdout(), /svc_sk_|curl|Docs/);
    await end(run);
  },
);

const ports = suite('when a service runs');

let service: Service;
ports.before(async () => {
  service = await startStandalone();
});
ports.after(async () => service[Symbol.asyncDispose]());

ports('the operators’ port reports liveness and readiness', async () => {
  const origin = new URL(service.metricsUrl).origin;
  for (const [path, status, text] of [
    ['/health/live', 200, 'live\n'],
    ['/health/ready', 200, 'ready\n'],
    ['/health/ready?verbose', 200, 'ready\n'],
    ['/health', 404, 'Not Found\n'],
    ['/v1/personas', 404, 'Not Found\n'],
  ] as const) {
    const response = await fetch(`${origin}${path}`);
    assert.equal([response.status, await response.text()], [status, text], path);
  }
  assert.is((await fetch(`${origin}/metrics`, { method: 'POST' })).status, 404);
  const scrape = await fetch(service.metricsUrl);
  await scrape.body?.cancel();
  assert.match(scrape.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
});

ports('the API port has no metrics, health, docs or admin routes', async () => {
  const { key } = await newCaller(service);
  const headers = { authorization: `Bearer ${key}` };
  const outside = [
    '/metrics',
    '/health/live',
    '/docs',
    '/redoc',
    '/openapi.json',
    '/accounts',
    '/',
  ];
  for (const path of outside) {
    for (const sent of [{}, { headers }]) {
      assert.is((await fetch(`${service.origin}${path}`, sent)).status, 404, path);
    }
  }
  for (const path of ['/metrics', '/health/live', '/docs', '/accounts']) {
    assert.is((await send(service, 'GET', path, { headers })).status, 404, path);
  }
});

ports('the API port does not accept gRPC', async () => {
  for (const path of ['/identity_engine.v1.Engine/Ask', '/grpc.health.v1.Health/Check']) {
    const headers = { 'content-type': 'application/grpc', te: 'trailers' };
    const response = await fetch(`${service.origin}${path}`, { method: 'POST', headers, body: '' });
    assert.is(response.status, 404, path);
    assert.is(response.headers.get('grpc-status'), null);
  }
  const socket = await opened(service);
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  assert.match(await textOf(socket), /^HTTP\/1\.1 (400|505) /);
});

/** A connection to the API port. */
function opened({ origin }: Service): Promise<Socket> {
  return openedAt(origin);
}

async function openedAt(origin: string): Promise<Socket> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  return socket;
}

/** Reads until the peer closes. */
async function textOf(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket) text += chunk;
  return text;
}

function addressIn(run: ProcessRun, pattern: RegExp): string {
  return pattern.exec(run.stdout())?.[1] ?? '';
}

async function end(run: ProcessRun): Promise<void> {
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0);
}

for (const group of [stop, welcome, ports]) group.run();
