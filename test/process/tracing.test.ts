import { once } from 'node:events';
import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newCaller } from '#test/support/caller';
import { runMain } from '#test/support/process-run';
import { createInstance, observationAt } from '#test/support/scene';
import type { Service } from '#test/support/service';

/** Says on standard error what a process loads of the tracer; prom-client itself needs the API. */
const WATCHED = `--import "data:text/javascript,import{registerHooks}from'node:module';registerHooks({load(url,context,next){if(url.includes('@opentelemetry/sdk'))console.error('loaded',url);return next(url,context)}})"`;

/** A port of loopback at which nothing listens. */
const NOWHERE = 'http://127.0.0.1:9';

/** One observation through a process with these variables. */
async function observedWith(variables: Record<string, string>) {
  const run = runMain(['standalone'], { NODE_OPTIONS: WATCHED, ...variables });
  await run.says(/Admin +http\S+ /);
  const [, origin = ''] = /(http:\/\/[^/\s]+)\/v1/.exec(run.stdout()) ?? [];
  const service = { api: `${origin}/v1`, adminUrl: adminIn(run.stdout()) } as Service;
  const caller = await newCaller(service);
  const id = await createInstance(caller);
  const startedMs = performance.now();
  const path = `/instances/${id}/process`;
  const answer = await caller.send('POST', path, { json: observationAt(0) });
  const tookMs = performance.now() - startedMs;
  run.child.kill('SIGTERM');
  const code = await run.ended;
  return { answer, tookMs, code, log: run.stderr() };
}

function adminIn(text: string): string {
  const found = /admin\S*\s+(http:\/\/\S+)/i.exec(text)?.[1];
  if (found === undefined) throw new Error(`no admin address in ${text}`);
  return found;
}

const off = suite('without a collector');

off('nothing is traced, and nothing of OpenTelemetry is loaded', async () => {
  const { answer, code, log } = await observedWith({});
  assert.is(answer.status, 200);
  assert.is(answer.headers.get('traceparent'), null);
  assert.is(code, 0);
  assert.not.match(log, /loaded|trace_id/);
});

const away = suite('with a collector that is away');

away('requests are answered as usual, their trace is named, and the process ends', async () => {
  const { answer, tookMs, code, log } = await observedWith({
    SERVICE_OTLP_ENDPOINT: NOWHERE,
    SERVICE_TRACE_RATIO: '1',
  });
  assert.is(answer.status, 200);
  assert.match(answer.headers.get('traceparent') ?? '', /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  assert.ok(tookMs < 1_000, `${tookMs}`);
  assert.is(code, 0);
  assert.match(log, /loaded \S*@opentelemetry/);
});

const asked = suite('with a collector that asks who calls');

asked('it hears what the file of headers says', async () => {
  const heard = Promise.withResolvers<readonly unknown[]>();
  const collector = createServer(({ headers, url }, response) => {
    heard.resolve([url, headers.authorization, headers['x-scope']]);
    response.end();
  });
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const { port } = collector.address() as AddressInfo;
  using folder = mkdtempDisposableSync(join(tmpdir(), 'identity-engine-headers-'));
  const file = join(folder.path, 'headers');
  writeFileSync(file, 'authorization=Basic dXNlcjp3b3Jk==,x-scope=acme\n');
  await observedWith({
    SERVICE_OTLP_ENDPOINT: `http://127.0.0.1:${port}/`,
    SERVICE_OTLP_HEADERS_FILE: file,
    SERVICE_TRACE_RATIO: '1',
  });
  assert.equal(await heard.promise, ['/v1/traces', 'Basic dXNlcjp3b3Jk==', 'acme']);
  collector.closeAllConnections();
  collector.close();
});

const wrong = suite('when tracing is configured wrongly');

for (const [name, value] of [
  ['SERVICE_OTLP_ENDPOINT', ''],
  ['SERVICE_OTLP_ENDPOINT', 'collector:4317'],
  ['SERVICE_OTLP_ENDPOINT', 'http://user:word@127.0.0.1:4318'],
  ['SERVICE_OTLP_ENDPOINT', 'http://127.0.0.1:4318/?key=word@'],
  ['SERVICE_OTLP_ENDPOINT', 'http://127.0.0.1:4318#traces'],
  ['SERVICE_OTLP_HEADERS', ''],
  ['SERVICE_OTLP_HEADERS', 'authorization: Bearer word@'],
  ['SERVICE_OTLP_HEADERS', 'a=b,word@'],
  ['SERVICE_TRACE_RATIO', ''],
  ['SERVICE_TRACE_RATIO', '1.5'],
  ['SERVICE_TRACE_RATIO', '1%'],
] as const) {
  wrong(`${name}=${value} is refused by name in one line`, async () => {
    const run = runMain(['standalone'], { [name]: value });
    assert.is(await run.ended, 1);
    assert.match(run.stderr(), new RegExp(`^configuration: ${name}: .+\\n$`));
    assert.not.match(run.stderr(), /word@/);
  });
}

for (const group of [off, away, asked, wrong]) group.run();
