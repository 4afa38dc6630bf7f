import { randomBytes } from 'node:crypto';
import * as assert from 'uvu/assert';
import { otlpEndpointOf } from '#deploy/local/servers/jaeger-server';
import { createInstance, observationAt } from '#test/support/calls/scene';
import { addressIn } from '#test/support/process-run';
import { type FoundSpan, traceOf, tracesWith } from '#test/support/servers/jaeger';
import { type OwnCluster, startOwnCluster } from '#test/support/servers/own-cluster';
import { cassandraOrSkip, jaegerOrSkip, natsOrSkip } from '#test/support/servers/real-servers';

const { address: cassandra, suite } = cassandraOrSkip();
const { address: nats } = natsOrSkip();
const { address: jaeger, suite: traced } = jaegerOrSkip();

/** Spans in the trace of one observation, as `service name`. */
const NAMES = [
  'identity-edge POST /instances/:id/process',
  'identity-edge identity_engine.v1.Engine/process',
  'identity-edge identity_engine.v1.Limiter/admit',
  'identity-edge identity_engine.v1.Limiter/settle',
  'identity-engine identity_engine.v1.Engine/process',
  'identity-engine journal append',
  'identity-limiter identity_engine.v1.Limiter/admit',
  'identity-limiter identity_engine.v1.Limiter/settle',
];

/** Text that no span may contain, in addition to the caller's key and names. */
const SECRET_WORD = 'nightingale';

let cluster: OwnCluster;
let instanceId = '';
let seconds = 0;

/** Span of a caller that requests or refuses recording. */
function callersSpan(flags: '00' | '01' = '01') {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-${flags}` } };
}

async function observe(headers: Record<string, string>) {
  seconds += 2;
  const json = observationAt(seconds, { context: { note: SECRET_WORD } });
  const path = `/instances/${instanceId}/process`;
  const answer = await cluster.caller.send('POST', path, { json, headers });
  assert.is(answer.status, 200, answer.text);
  return answer;
}

function spanOf(spans: readonly FoundSpan[], service: string, name: string): FoundSpan {
  const found = spans.filter((span) => span.service === service && span.name === name);
  assert.is(found.length, 1, `${service} ${name}`);
  return found[0] as FoundSpan;
}

const namesIn = (spans: readonly FoundSpan[]) =>
  spans.map(({ service, name }) => `${service} ${name}`).sort();

const isWhole = (spans: readonly FoundSpan[]) =>
  NAMES.every((name) => namesIn(spans).includes(name));

// Without Cassandra or NATS, their own suite reports the skip.
const one = (cassandra === '' ? suite : traced)('when a caller traces one observation');

one.before(async () => {
  cluster = await startOwnCluster({ cassandra, nats }, ['a', 'b'], {
    limiters: ['limiter'],
    variables: {
      SERVICE_OTLP_ENDPOINT: otlpEndpointOf(jaeger),
      SERVICE_TRACE_RATIO: '0',
      SERVICE_LOG_LEVEL: 'debug',
    },
    // Engines also record their own work.
    variablesOf: (part) => ({ SERVICE_TRACE_RATIO: part === 'engine' ? '1' : '0' }),
  });
  instanceId = await createInstance(cluster.caller, { name: 'Philomela' });
});
one.after(async () => {
  await cluster[Symbol.asyncDispose]();
});

one('edge, limiter, engine and journal append are linked in the trace of the caller', async () => {
  const { traceId, spanId, headers } = callersSpan();
  await observe(headers);
  const spans = await traceOf(jaeger, traceId, isWhole);
  const names = namesIn(spans);
  // The limiter also appends if a watermark is due.
  assert.equal(
    names.filter((name) => name !== 'identity-limiter journal append'),
    NAMES,
  );
  const edge = spanOf(spans, 'identity-edge', 'POST /instances/:id/process');
  assert.is(edge.parentId, spanId);
  for (const [service, name] of [
    ['identity-limiter', 'identity_engine.v1.Limiter/admit'],
    ['identity-limiter', 'identity_engine.v1.Limiter/settle'],
    ['identity-engine', 'identity_engine.v1.Engine/process'],
  ] as const) {
    const client = spanOf(spans, 'identity-edge', name);
    assert.is(client.parentId, edge.spanId, name);
    assert.is(spanOf(spans, service, name).parentId, client.spanId, name);
  }
  const engine = spanOf(spans, 'identity-engine', 'identity_engine.v1.Engine/process');
  const append = spanOf(spans, 'identity-engine', 'journal append');
  // Jaeger keeps the link to a span that is also the parent.
  assert.equal([append.traceId, append.linkedIds], [traceId, [engine.spanId]]);
  assert.ok(append.startUs >= engine.startUs && append.tookUs <= edge.tookUs);
});

one('the spans of the trace follow OpenTelemetry’s conventions', async () => {
  const { traceId, headers } = callersSpan();
  await observe(headers);
  const spans = await traceOf(jaeger, traceId, isWhole);
  const { tags } = spanOf(spans, 'identity-edge', 'POST /instances/:id/process');
  assert.is(tags['span.kind'], 'server');
  assert.is(tags['http.request.method'], 'POST');
  assert.is(tags['http.route'], '/instances/:id/process');
  assert.is(Number(tags['http.response.status_code']), 200);
  const client = spanOf(spans, 'identity-edge', 'identity_engine.v1.Engine/process').tags;
  assert.is(client['span.kind'], 'client');
  assert.is(client['rpc.system.name'], 'grpc');
  assert.is(client['rpc.method'], 'identity_engine.v1.Engine/Exchange');
  assert.is(client['identity.outcome'], 'ok');
  assert.is(client['server.address'], '127.0.0.1');
});

one('no span identifies caller, instance or content', async () => {
  const { traceId, headers } = callersSpan();
  await observe(headers);
  const shown = JSON.stringify(await traceOf(jaeger, traceId, isWhole));
  const { accountId, key } = cluster.caller;
  for (const secret of [accountId, key, instanceId, 'Philomela', SECRET_WORD]) {
    assert.not.ok(shown.includes(secret), secret);
  }
});

one('the answer, the edge’s log and a scrape name the trace', async () => {
  const { traceId, headers } = callersSpan();
  const answer = await observe(headers);
  const shown = answer.headers.get('traceparent') ?? '';
  assert.match(shown, new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
  await cluster.edge.says(new RegExp(`${traceId}.*answered`));
  const lines = cluster.edge.stderr().split('\n');
  const line = JSON.parse(lines.find((text) => text.includes(traceId)) ?? '{}');
  assert.is(line.msg, 'answered');
  assert.is(line.span_id, shown.split('-')[2]);
  const accept = 'application/openmetrics-text; version=1.0.0';
  const scrape = await fetch(addressIn(cluster.edge, 'metrics'), { headers: { accept } });
  assert.match(scrape.headers.get('content-type') ?? '', /^application\/openmetrics-text/);
  const text = await scrape.text();
  const exemplar = `http_server_request_duration_seconds_bucket\\{.*# \\{trace_id="${traceId}"\\}`;
  assert.match(text, new RegExp(exemplar));
});

one('a trace that the caller does not record is named, but not exported', async () => {
  const { traceId, headers } = callersSpan('00');
  const answer = await observe(headers);
  assert.match(answer.headers.get('traceparent') ?? '', new RegExp(`^00-${traceId}-.*-00$`));
  // A later trace is exported, so the earlier trace would have been exported too.
  const later = callersSpan();
  await observe(later.headers);
  await traceOf(jaeger, later.traceId, isWhole);
  assert.is((await fetch(`${jaeger}/api/traces/${traceId}`)).status, 404);
});

one('an engine’s last checkpoints and the take-over of a killed engine are exported', async () => {
  const [killed, left] = [cluster.engines.get('a'), cluster.engines.get('b')];
  killed?.child.kill('SIGKILL');
  await killed?.ended;
  const takeovers = await tracesWith(jaeger, 'identity-engine', 'takeover');
  assert.ok(takeovers.some(({ tags }) => Number(tags['identity.shards']) > 0));
  left?.child.kill('SIGTERM');
  await left?.ended;
  const checkpoints = await tracesWith(jaeger, 'identity-engine', 'checkpoint');
  assert.ok(checkpoints.some(({ tags }) => tags['identity.actor.kind'] === 'instance'));
});

one.run();
