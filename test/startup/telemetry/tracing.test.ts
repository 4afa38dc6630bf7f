import { once } from 'node:events';
import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newCaller } from '#test/support/calls/caller';
import { createInstance, observationAt } from '#test/support/calls/scene';
import { runMain } from '#test/support/process-run';
import type { Service } from '#test/support/servers/service';

/** Logs the tracer modules that a process loads, except the API, which prom-client needs. */
const WATCHED = `--import "data:text/javascript,import{registerHooks}from'node:module';registerHooks({load(url,context,next){if(url.includes('@opentelemetry/sdk'))console.error('loaded',url);return next(url,context)}})"`;

/** A loopback port without a listener. */
const NOWHERE = 'http://127.0.0.1:9';

/** Starts a process with these variables and makes one observation. */
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

for (const [name, variables] of [
  ['', {}],
  ['and variables for other programs, ', { OTEL_TRACES_SAMPLER: 'xray', OTEL_PROPAGATORS: '?' }],
  [
    'because the SDK is disabled, ',
    { OTEL_EXPORTER_OTLP_ENDPOINT: NOWHERE, OTEL_SDK_DISABLED: 'TRUE' },
  ],
] as const) {
  off(`${name}no span is recorded, and OpenTelemetry is not loaded`, async () => {
    const { answer, code, log } = await observedWith(variables);
    assert.is(answer.status, 200);
    assert.is(answer.headers.get('traceparent'), null);
    assert.is(code, 0);
    assert.not.match(log, /loaded|trace_id/);
  });
}

const away = suite('with an absent collector');

away('requests are answered as usual with a trace id, and the process exits', async () => {
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

const asked = suite('a collector with authentication');

/** First message to a collector: path and headers, and body. */
type Heard = { readonly said: readonly unknown[]; readonly body: string };

/**
 * Starts a collector, which answers a message after reading it. When a process has stopped, all
 * its messages have therefore arrived.
 */
async function openCollector() {
  let first: Heard | undefined;
  const collector = createServer(async (request, response) => {
    const { headers, url } = request;
    const body = Buffer.concat(await request.toArray()).toString('latin1');
    first ??= { said: [url, headers.authorization, headers['x-scope']], body };
    response.end();
  });
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const { port } = collector.address() as AddressInfo;
  return {
    address: `http://127.0.0.1:${port}`,
    heard: () => first,
    [Symbol.dispose]: () => {
      collector.closeAllConnections();
      collector.close();
    },
  };
}

asked('receives the headers of the configured file', async () => {
  using collector = await openCollector();
  using folder = mkdtempDisposableSync(join(tmpdir(), 'identity-engine-headers-'));
  const file = join(folder.path, 'headers');
  writeFileSync(file, 'authorization=Basic dXNlcjp3b3Jk==,x-scope=acme\n');
  await observedWith({
    SERVICE_OTLP_ENDPOINT: `${collector.address}/`,
    SERVICE_OTLP_HEADERS_FILE: file,
    SERVICE_TRACE_RATIO: '1',
  });
  assert.equal(collector.heard()?.said, ['/v1/traces', 'Basic dXNlcjp3b3Jk==', 'acme']);
});

// Report 31: the service ignored the variables that operators set for every program.
asked('receives traces according to the OpenTelemetry variables', async () => {
  using collector = await openCollector();
  await observedWith({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.address,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20b3BlcmF0b3I=,x-scope=night',
    OTEL_SERVICE_NAME: 'engine-of-acme',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=night,service.version=9.9.9',
    OTEL_TRACES_SAMPLER: 'always_on',
  });
  const { said, body = '' } = collector.heard() ?? {};
  assert.equal(said, ['/v1/traces', 'Basic b3BlcmF0b3I=', 'night']);
  for (const text of ['engine-of-acme', 'deployment.environment.name', '9.9.9']) {
    assert.match(body, text);
  }
  assert.not.match(body, 'identity-standalone');
});

asked('receives no trace if the OpenTelemetry sampler is off', async () => {
  using collector = await openCollector();
  const { answer } = await observedWith({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.address}/somewhere`,
    OTEL_TRACES_SAMPLER: 'parentbased_always_off',
    SERVICE_TRACE_RATIO: '1',
  });
  assert.match(answer.headers.get('traceparent') ?? '', /-00$/);
  assert.is(collector.heard(), undefined);
});

const wrong = suite('when tracing is misconfigured');

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
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317'],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
  ['OTEL_TRACES_EXPORTER', 'zipkin'],
  ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
  ['OTEL_TRACES_SAMPLER_ARG', '1%'],
  ['OTEL_PROPAGATORS', 'tracecontext,xray'],
] as const) {
  wrong(`${name}=${value} is rejected with one line that names the variable`, async () => {
    const collector = name.startsWith('OTEL_') ? { SERVICE_OTLP_ENDPOINT: NOWHERE } : {};
    const run = runMain(['standalone'], { ...collector, [name]: value });
    assert.is(await run.ended, 1);
    assert.match(run.stderr(), new RegExp(`^configuration: ${name}: .+\\n$`));
    assert.not.match(run.stderr(), /word@/);
  });
}

for (const group of [off, away, asked, wrong]) group.run();
