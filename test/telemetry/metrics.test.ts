import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { MetricDefinition } from '#telemetry/make-metric';
import { createMetrics, METRICS, type MetricName } from '#telemetry/metrics';
import {
  CREATE,
  instancesUnderTest,
  process as observe,
  seen,
} from '#test/engine/instance/instance-fixture';
import { type Caller, newCaller, send } from '#test/support/calls/caller';
import type { Service } from '#test/support/servers/service';
import { startThreeProcesses, type ThreeProcesses } from '#test/support/servers/three-processes';
import { soon } from '#test/support/soon';

/** Metrics that normal traffic does not produce, with the tests that cover them. */
const RARE: readonly MetricName[] = [
  // Only with a broken engine or store: test/engine/directory/indexer.test.ts.
  'index_build_failures_total',
  'index_unreadable_instances',
  // Only with a damaged or incomplete index: test/engine/directory/scrub.test.ts.
  'index_repairs_total',
  // Only after 5 s: test/telemetry/event-loop-utilization.test.ts.
  'nodejs_eventloop_utilization',
  // Only with certificates: test/startup/cluster/tls.test.ts.
  'rpc_server_refused_total',
  // Only after 20 s, with a broken store, or before all records are stored: tested below.
  'checkpoint_dirty_age_seconds',
  'checkpoint_failures_total',
  'journal_unflushed_records',
  // Only while a feed cannot be reached: test/engine/feed/feed-outage.test.ts.
  'transitions_record_failures_total',
  'transitions_unrecorded_seconds',
  'transitions_unrecorded_bytes',
  // Only with webhooks: test/engine/webhooks/deliverers.test.ts.
  'webhook_attempts_total',
  'webhook_endpoints',
  // Only with invalid messages: test/bus/signed-bus.test.ts.
  'bus_dropped_total',
  // Only with other nodes: test/limiter/meter/stepped-clock.test.ts.
  'clock_ahead_seconds',
  'clock_deviating',
  // Only while a refusal is cached: test/edge/admission/limited-keys.test.ts.
  'edge_refused_unasked_total',
  // Only after 30 refused keys: test/api/account/limit-headers-unknown-caller.test.ts.
  'edge_unknown_keys_not_looked_up_total',
  // Only with slow senders: test/edge/connections/unfinished-bodies.test.ts.
  'edge_unfinished_bodies',
  'edge_unfinished_body_bytes',
  'edge_bodies_given_up_total',
  // Only with slow readers: test/edge/connections/slow-readers.test.ts.
  'edge_pipelined_requests',
  'edge_unread_answer_bytes',
  'edge_slow_readers_ended_total',
  // Only with event streams: test/edge/connections/event-streams.test.ts.
  'edge_event_streams',
  'edge_event_streams_ended_total',
  // Only with a full disk: test/startup/telemetry/log-streams.test.ts.
  'log_lines_lost_total',
  // Only with tracing: otlp-tracer.test.ts, test/startup/telemetry/open-spans.test.ts.
  'trace_spans_lost_total',
  'trace_spans_open',
  // Only with certificates or secret files: test/startup/cluster/watched-certificates.test.ts.
  'tls_certificate_expiry_timestamp_seconds',
  'credential_loaded_timestamp_seconds',
  'credential_reload_failures_total',
  // Only without a limiter: test/startup/outage.test.ts.
  'edge_fail_closed_total',
  'edge_unsettled_total',
  // Only after 60 s or a crash: test/limiter.
  'limiter_reservations_expired_total',
  'limiter_lost_cycles_total',
  'limiter_heavy_losses_total',
  // Only with concurrent calls: tested below.
  'identity_mailbox_wait_seconds',
  // Only in clusters: test/startup/cluster/cluster.test.ts, test/actor-runtime, test/cluster.
  'journal_append_seconds',
  'journal_group_records',
  'journal_fenced_total',
  'shards_owned',
  'shard_moves_total',
  'shard_seals_total',
  'recovered_records_total',
  'recovery_seconds',
  'cluster_shards',
  'not_owner_total',
  // Only with several servers: test/storage/cassandra/second-server.test.ts.
  'db_client_second_server_total',
  // With Cassandra or several nodes: test/startup/cluster/cluster.test.ts.
  'db_client_operation_duration_seconds',
  'edge_retries_total',
  // Only without a store: test/audit/audit-trail.test.ts.
  'audit_failures_total',
  // Consoles only: test/console/guessing.test.ts.
  'console_request_duration_seconds',
  'console_sign_ins_total',
];

/**
 * Maximum number of scrapes, a few milliseconds each, until a value that changes once a second
 * appears.
 */
const ATTEMPTS_MAX = 3_000;

const names = Object.keys(METRICS) as MetricName[];

/** Metric families with kind, help and samples. */
function familiesIn(text: string) {
  const families = new Map<string, { kind: string; help: string; samples: string[] }>();
  for (const block of text.split('\n\n')) {
    const [, name = '', help = ''] = /^# HELP (\S+) (.*)$/m.exec(block) ?? [];
    const kind = /^# TYPE \S+ (\w+)$/m.exec(block)?.[1] ?? '';
    const samples = block.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    if (name !== '') families.set(name, { kind, help, samples });
  }
  return families;
}

/** Whether any sample of a family is nonzero. */
function isObserved(samples: readonly string[]): boolean {
  const shown = samples.filter((line) => !/_(bucket|sum)\{?/.test(line.split(' ')[0] ?? ''));
  return shown.some((line) => Number(line.slice(line.lastIndexOf(' '))) > 0);
}

const isBucket = (line: string): boolean => /^\w+_bucket\{/.test(line);

function labelsIn(line: string): string[] {
  return [...line.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = '']) => label).sort();
}

const catalog = suite('the catalog of metrics');

catalog('uses base units in names, and no label that identifies a caller or an instance', () => {
  for (const name of names) {
    const { kind, labels } = METRICS[name];
    assert.is(name.endsWith('_total'), kind === 'counter', name);
    assert.not.match(name, /_(ms|millis|milliseconds|kib|mib)$/);
    for (const label of labels) assert.not.match(label, /account|instance|key|id$/, name);
  }
});

catalog('equals a scrape, apart from the process’s own metrics', async () => {
  const families = familiesIn((await createMetrics().scrape()).text);
  const others = [...families.keys()].filter((name) => !/^(process|nodejs)_/.test(name));
  const ours = names.filter((name) => !/^(process|nodejs)_/.test(name));
  assert.equal(others.sort(), ours.toSorted());
  for (const name of names) {
    const { kind, help } = METRICS[name];
    assert.equal([families.get(name)?.kind, families.get(name)?.help], [kind, help]);
  }
});

const scraped = suite('when three processes have had some traffic');

let cluster: ThreeProcesses;
let secrets: string[] = [];
let texts: string[] = [];
scraped.before(async () => {
  cluster = await startThreeProcesses();
  secrets = await makeTraffic(cluster.service);
  texts = await scrapes(cluster);
});
scraped.after(async () => cluster.service[Symbol.asyncDispose]());

scraped('every metric has been observed, except the rare metrics', () => {
  const families = texts.map(familiesIn);
  const silent = names.filter(
    (name) => !families.some((scrape) => isObserved(scrape.get(name)?.samples ?? [])),
  );
  assert.equal(
    silent.filter((name) => !RARE.includes(name)),
    [],
  );
});

scraped('every process shows all metrics, including unused metrics', () => {
  for (const text of texts) {
    const families = familiesIn(text);
    for (const name of names) assert.ok(families.has(name), name);
  }
});

scraped('series have exactly the labels and buckets of the catalog', () => {
  for (const text of texts) {
    for (const name of names) {
      const { labels, buckets = [] }: MetricDefinition = METRICS[name];
      const samples = familiesIn(text).get(name)?.samples ?? [];
      const [ofBuckets, others] = [samples.filter(isBucket), samples.filter((s) => !isBucket(s))];
      for (const line of others) assert.equal(labelsIn(line), labels.toSorted(), line);
      for (const line of ofBuckets) {
        assert.equal(labelsIn(line), [...labels, 'le'].toSorted(), line);
        const bound = /le="([^"]*)"/.exec(line)?.[1];
        assert.ok(bound === '+Inf' || buckets.includes(Number(bound)), line);
      }
    }
  }
});

scraped('no label identifies a caller or an instance', () => {
  for (const text of texts) {
    const labels = [...text.matchAll(/="([^"]*)"/g)].map(([, value = '']) => value);
    for (const value of labels) {
      assert.not.match(value, /inst_|svc_sk_|snap_|req_|[0-9a-f]{16}/);
      for (const secret of secrets) assert.not.ok(value.includes(secret), value);
    }
  }
});

scraped('routes are templates, also for unknown paths', () => {
  const [edge = ''] = texts;
  const routes = new Set([...edge.matchAll(/http_route="([^"]*)"/g)].map(([, route]) => route));
  assert.ok(routes.has('/instances/:id/process'), [...routes].join());
  for (const route of routes) assert.not.match(route ?? '', /nowhere|persona_/);
});

const checkpoints = suite('when actors are stored');

checkpoints('the age of dirty actors and a failed checkpoint are counted', async () => {
  const scene = instancesUnderTest();
  await scene.ask(CREATE);
  const { checkpoint } = scene.store;
  scene.store.checkpoint = () => Promise.reject(new Error('no disk'));
  await scene.flush();
  const failed = familiesIn((await scene.metrics.scrape()).text);
  assert.ok(isObserved(failed.get('checkpoint_failures_total')?.samples ?? []));
  assert.ok(isObserved(failed.get('journal_unflushed_records')?.samples ?? []));
  scene.store.checkpoint = checkpoint;
  await scene.flush();
  const stored = familiesIn((await scene.metrics.scrape()).text);
  assert.ok(isObserved(stored.get('checkpoint_dirty_age_seconds')?.samples ?? []));
  assert.not.ok(isObserved(stored.get('journal_unflushed_records')?.samples ?? []));
});

checkpoints('concurrent calls of one instance are counted as waiting', async () => {
  const scene = instancesUnderTest();
  await Promise.all([scene.ask(CREATE), scene.ask(observe(seen()))]);
  const families = familiesIn((await scene.metrics.scrape()).text);
  assert.ok(isObserved(families.get('identity_mailbox_wait_seconds')?.samples ?? []));
});

/**
 * Creates an instance with the first call of cold processes. On a busy machine, the first answer of
 * a limiter can take longer than the edge's deadline, so a 503 is sent again.
 */
async function firstInstance(caller: Caller): Promise<string> {
  const mode_strengths = { order: 0.9, identity: 0.6 };
  const sent = {
    json: { name: 'Ada', initial_config: { mode_strengths } },
    headers: { 'idempotency-key': 'first' },
  };
  let created = await caller.send('POST', '/instances', sent);
  await soon('an instance is created', async () => {
    if (created.status === 503) created = await caller.send('POST', '/instances', sent);
    return created.status !== 503;
  });
  assert.is(created.status, 201, created.text);
  return created.body.data.id;
}

/**
 * Makes enough calls for a timed model step (one in 64). Returns texts that no label may contain.
 */
async function makeTraffic(running: Service): Promise<string[]> {
  const caller = await newCaller(running);
  const poor = await newCaller(running, { requestsPerMinute: 1 });
  const id = await firstInstance(caller);
  const observations = Array.from({ length: 100 }, (_, n) => ({
    mode_target: n % 2 === 0 ? 'EXPLORATION' : 'ASSERTION',
    signal_strength: 1,
    timestamp: new Date(Date.UTC(2026, 0, 15) + n * 2_000).toISOString(),
  }));
  await caller.send('POST', `/instances/${id}/process/batch`, { json: { observations } });
  const now = { mode_target: 'ORDER', signal_strength: 0.5 };
  for (const _ of ['taken', 'too early']) {
    await caller.send('POST', `/instances/${id}/process`, { json: now });
  }
  await caller.send('POST', '/process', { json: { observations: [{ instance_id: id, ...now }] } });
  await caller.send('GET', `/instances/${id}/states?cycles=0`);
  for (const path of [
    '/instances',
    '/fleet',
    `/instances/${id}/drift`,
    '/personas/persona_leader',
    '/nowhere',
  ]) {
    await caller.send('GET', path);
    await poor.send('GET', path);
  }
  await send(running, 'GET', `/instances/${id}`);
  return [id, caller.key, caller.accountId, poor.key, poor.accountId];
}

/** Scrapes all processes, the edge with calls in flight. */
async function scrapes({ service, metricsUrls }: ThreeProcesses): Promise<string[]> {
  const caller = await newCaller(service);
  const [edgeUrl = '', ...otherUrls] = metricsUrls;
  const found: string[] = [];
  // A sweep sets the runtime's gauges once a second.
  for (const url of otherUrls) found.push(await textThat(/^identity_actors_active\S+ [1-9]/m, url));
  const busy = /^edge_inflight [1-9]/m;
  const calls = () => Array.from({ length: 20 }, () => caller.send('GET', '/instances'));
  return [await textThat(busy, edgeUrl, calls), ...found];
}

/** First matching scrape, with `calls` in flight at each attempt. */
async function textThat(
  pattern: RegExp,
  url: string,
  calls: () => Promise<unknown>[] = () => [],
): Promise<string> {
  for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts += 1) {
    const underWay = Promise.all(calls());
    const text = await textOf(url);
    await underWay;
    if (pattern.test(text)) return text;
  }
  throw new Error(`no scrape of ${url} has ${pattern}`);
}

async function textOf(url: string): Promise<string> {
  return (await fetch(url)).text();
}

for (const group of [catalog, scraped, checkpoints]) group.run();
