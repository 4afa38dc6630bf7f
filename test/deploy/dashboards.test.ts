import { mkdtempDisposableSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { stringify } from 'yaml';
import { freePort } from '#deploy/local/servers/free-port';
import { startServer } from '#deploy/local/servers/local-server';
import { DASHBOARDS } from '#deploy/observe/dashboards/all';
import { grafanaExpr } from '#deploy/observe/grafana-json';
import { observeFiles } from '#deploy/observe/observe-files';
import { legendOf, rangeQuery } from '#deploy/observe/range-query';
import { ALERTS, RECORDINGS, rulesText } from '#deploy/observe/rule-files';
import { openMigratedKeyspace } from '#test/storage/cassandra/migrated-keyspace';
import { type Caller, newCaller } from '#test/support/calls/caller';
import { prometheusOrSkip } from '#test/support/servers/prometheus';
import { cassandraOrSkip } from '#test/support/servers/real-servers';
import { startStandalone } from '#test/support/servers/service';
import { startThreeProcesses } from '#test/support/servers/three-processes';

/** Maximum polls of a query. Rates need two scrapes; histograms also a call between the scrapes. */
const POLLS_MAX = 60;
const POLL_EVERY_MS = 1_000;

/** Maximum lifetime of the test's processes, in milliseconds. */
const RUN_MS_MAX = 300_000;

const PANELS = DASHBOARDS.flatMap(({ title, panels }) =>
  panels.map((panel) => ({ ...panel, name: `${title}: ${panel.title}` })),
);

const files = suite('the rule and dashboard files');

files('are up to date with their sources', () => {
  for (const [file, text] of observeFiles()) assert.is(readFileSync(file, 'utf8'), text, file);
});

// Report 39: Dashboards had one fixed source, no variables, windows of one minute, and no links.
files('let users select source, job and instance, edit, and open the runbook', () => {
  assert.is(
    grafanaExpr('histogram_quantile(0.5, sum by (source, le) (rate(a_b_bucket{x="y"}[1m])))'),
    'histogram_quantile(0.5, sum by (source, le) (rate(a_b_bucket{x="y",job=~"$job",instance=~"$instance"}[$__rate_interval])))',
  );
  assert.is(grafanaExpr('bus_connected'), 'bus_connected{job=~"$job",instance=~"$instance"}');
  assert.is(grafanaExpr('sum(k6_vus)'), 'sum(k6_vus)');
  assert.is(grafanaExpr('slo:a_b:ratio_rate5m / 0.01'), 'slo:a_b:ratio_rate5m / 0.01');
  for (const { id } of DASHBOARDS) {
    const read = JSON.parse(readFileSync(`deploy/observe/grafana/${id}.json`, 'utf8'));
    assert.is(read.editable, true);
    const names = read.templating.list.map(({ name }: { name: string }) => name);
    assert.equal(names, ['datasource', 'job', 'instance', 'runbook_base']);
    assert.match(read.links[0].url, /docs\/runbook\.md$/);
    assert.not.match(JSON.stringify(read.panels), /\[1m\]|"uid":"prometheus"/);
  }
});

files('contain every panel of every dashboard, with its expressions', () => {
  for (const { id, panels } of DASHBOARDS) {
    const read = JSON.parse(readFileSync(`deploy/observe/grafana/${id}.json`, 'utf8'));
    const shown: { title: string; targets: { expr: string }[] }[] = read.panels;
    assert.equal(
      shown.map(({ title, targets }) => [title, targets.map(({ expr }) => expr)]),
      panels.map(({ title, queries }) => [title, queries.map(({ expr }) => grafanaExpr(expr))]),
    );
    assert.ok(panels.length >= 6, id);
  }
});

const tools = await prometheusOrSkip();
const cassandra = cassandraOrSkip();
const suiteOfBoth = cassandra.address === '' ? cassandra.suite : tools.suite;
const asked = suiteOfBoth('Prometheus, scraping a service with some traffic,');

type Watched = AsyncDisposable & { readonly address: string; readonly call: () => Promise<void> };
let watched: Watched;
let steps = 0;
asked.before(async () => {
  watched = await watch();
});
asked.after(async () => watched?.[Symbol.asyncDispose]());

for (const { name, queries, mayBeEmpty } of PANELS) {
  asked(`returns series for ${name}`, async () => {
    for (const { expr, legend } of queries) {
      const curves = await seriesOf(expr, mayBeEmpty !== undefined);
      for (const curve of curves) {
        assert.is.not(legendOf(legend, curve), '', `${expr} has a curve without a name`);
      }
    }
  });
}

asked('evaluates every rule without an error', async () => {
  const response = await fetch(`${watched.address}/api/v1/rules`);
  const { data } = (await response.json()) as {
    data: { groups: { rules: { name: string; health: string; lastError?: string }[] }[] };
  };
  const rules = data.groups.flatMap((group) => group.rules);
  assert.is(rules.length, ALERTS.length + RECORDINGS.length);
  // Rules with a one-minute interval may be pending.
  for (const { name, health, lastError } of rules)
    assert.is.not(health, 'err', `${name}: ${lastError}`);
});

asked('returns nothing for an unknown metric', async () => {
  const now = Math.floor(Date.now() / 1_000);
  const range = { fromS: now - 60, toS: now, stepS: 5 };
  assert.equal(await rangeQuery(watched.address, 'sum(rate(nothing_total[1m]))', range), []);
});

/** Polls until the query returns series. For possibly empty panels, a successful query suffices. */
async function seriesOf(expr: string, mayBeEmpty: boolean) {
  for (let polls = 1; ; polls += 1) {
    const now = Math.floor(Date.now() / 1_000);
    const range = { fromS: now - 120, toS: now, stepS: 5 };
    const curves = await rangeQuery(watched.address, expr, range);
    if (curves.some(({ points }) => points.length > 0) || mayBeEmpty) return curves;
    assert.ok(polls < POLLS_MAX, `${expr} returns no series`);
    await watched.call();
    await sleep(POLL_EVERY_MS);
  }
}

/**
 * Starts an edge, an engine, a limiter, a single-process service on Cassandra, and a Prometheus
 * that scrapes these processes.
 */
async function watch(): Promise<Watched> {
  await using opening = new AsyncDisposableStack();
  const folder = opening.use(mkdtempDisposableSync(join(tmpdir(), 'identity-engine-observe-')));
  const { service, metricsUrls } = await startThreeProcesses(RUN_MS_MAX);
  opening.use(service);
  const keyspace = opening.use(await openMigratedKeyspace(cassandra.address));
  const stored = opening.use(
    await startStandalone({
      SERVICE_STORAGE: 'cassandra',
      SERVICE_CASSANDRA_CONTACT_POINTS: cassandra.address,
      SERVICE_CASSANDRA_KEYSPACE: keyspace.name,
      SERVICE_SHARDS: '8',
      SERVICE_LIMITER_TIMEOUT_MS: '5000',
    }),
  );
  const [edge = '', engine = '', limiter = ''] = metricsUrls;
  const jobs = { edge: [edge], engine: [engine, stored.metricsUrl], limiter: [limiter] };
  // Shorten the one-minute interval for the test.
  const rules = rulesText().replace('interval: 1m', 'interval: 1s');
  writeFileSync(join(folder.path, 'rules.yml'), rules);
  writeFileSync(join(folder.path, 'prometheus.yml'), settings(folder.path, jobs));
  const address = `http://127.0.0.1:${await freePort()}`;
  const { prometheus, args } = tools.programs;
  const place = { folder: folder.path, logFolder: folder.path };
  const server = await startServer(place, {
    name: 'prometheus',
    program: prometheus,
    args: [
      ...args,
      `--config.file=${join(folder.path, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder.path, 'data')}`,
      `--web.listen-address=${new URL(address).host}`,
    ],
    address,
    readyMsMax: 60_000,
    ask: async () => assert.ok((await fetch(`${address}/-/ready`)).ok),
  });
  opening.use(server);
  const callers = await Promise.all([service, stored].map(async (target) => newCaller(target)));
  const ids = await Promise.all(
    callers.map(async (caller) => {
      const { body } = await caller.send('POST', '/instances', { json: { name: 'Ada' } });
      return body.data.id as string;
    }),
  );
  const call = async () => {
    await Promise.all(callers.map((caller, place) => callsOf(caller, ids[place] ?? '')));
  };
  const opened = opening.move();
  return { address, call, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Makes enough calls that every metric has samples: every 64th model step is timed. */
async function callsOf({ send }: Caller, id: string): Promise<void> {
  const observations = Array.from({ length: 70 }, (_, n) => ({
    mode_target: n % 2 === 0 ? 'EXPLORATION' : 'ASSERTION',
    signal_strength: 1,
    timestamp: new Date(Date.UTC(2026, 0, 15) + (steps + n) * 2_000).toISOString(),
  }));
  steps += observations.length;
  const observation = { mode_target: 'ORDER', signal_strength: 0.5 };
  await send('POST', `/instances/${id}/process/batch`, { json: { observations } });
  await send('POST', `/instances/${id}/process`, { json: observation });
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      const { body } = await send('POST', '/instances', { json: { name: 'Eve' } });
      // A busy machine may refuse the call.
      const path = `/instances/${body.data?.id}`;
      await Promise.all([
        send('GET', path),
        send('GET', `${path}/snapshot`),
        send('POST', `${path}/process`, { json: observation }),
      ]);
      // A checkpoint follows soon after a deletion, but only two minutes after other changes.
      await send('DELETE', path);
    }),
  );
}

function settings(folder: string, jobs: Readonly<Record<string, readonly string[]>>): string {
  return stringify({
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [join(folder, 'rules.yml')],
    scrape_configs: Object.entries(jobs).map(([job, urls]) => ({
      job_name: job,
      static_configs: [{ targets: urls.map((url) => new URL(url).host) }],
    })),
  });
}

for (const group of [files, asked]) group.run();
