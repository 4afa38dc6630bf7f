import { globSync, mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { runProgram } from '#deploy/local/processes/run-program';
import { RULES_FILE } from '#deploy/observe/rule-files';
import { composeFile, configText } from '#test/deploy/compose-file';
import { prometheusOrSkip } from '#test/support/servers/prometheus';

const CHECK_MS_MAX = 30_000;

const { services } = composeFile();

type Scraped = { readonly job_name: string; readonly static_configs: { targets: string[] }[] };
const scraped: readonly Scraped[] = parse(configText('prometheus')).scrape_configs;

const watched = suite('monitoring in compose.yaml');

watched('scrapes every process of the service, with its role as job name', () => {
  for (const { job_name: job, static_configs: targets } of scraped) {
    const wanted = Object.keys(services).filter((name) => name.replace(/\d+$/, '') === job);
    assert.ok(wanted.length >= 2, job);
    assert.equal(
      targets.flatMap((config) => config.targets),
      wanted.map((name) => `${name}:9464`),
    );
    for (const name of wanted) {
      assert.is(services[name]?.environment?.['SERVICE_METRICS_HOST'], '0.0.0.0', name);
    }
  }
  assert.equal(
    scraped.map(({ job_name: job }) => job),
    ['edge', 'engine', 'limiter', 'courier', 'console'],
  );
});

watched('accepts metrics from k6, and stores trace ids', () => {
  const command = services['prometheus']?.command ?? [];
  assert.ok(command.includes('--web.enable-remote-write-receiver'));
  assert.ok(command.includes('--enable-feature=exemplar-storage'));
});

watched('provisions all dashboards and their data source', () => {
  const [source] = parse(configText('grafana-source')).datasources;
  assert.is(source.uid, 'prometheus');
  assert.is(source.url, 'http://prometheus:9090');
  const [provider] = parse(configText('grafana-dashboards')).providers;
  assert.is(provider.options.path, '/etc/dashboards');
  assert.is(globSync('deploy/observe/grafana/*.json').length, 5);
});

const tools = await prometheusOrSkip();
const accepted = tools.suite('the Prometheus settings in compose.yaml');

accepted('are accepted by promtool together with the rules', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'identity-engine-compose-'));
  const file = join(folder.path, 'prometheus.yml');
  const rules = join(process.cwd(), RULES_FILE);
  writeFileSync(file, configText('prometheus').replace('/etc/prometheus/rules.yml', rules));
  const { promtool: program } = tools.programs;
  const { isOk, output } = await runProgram({
    program,
    args: ['check', 'config', file],
    msMax: CHECK_MS_MAX,
  });
  assert.ok(isOk, output);
});

for (const group of [watched, accepted]) group.run();
