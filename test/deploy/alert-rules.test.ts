import { cpSync, mkdtempDisposableSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parse, stringify } from 'yaml';
import { clusterPlan } from '#deploy/local/cluster-plan';
import { runProgram } from '#deploy/local/processes/run-program';
import { runbookOf } from '#deploy/observe/alert';
import { observePlan, prometheusSettings } from '#deploy/observe/observe-plan';
import { ALERTS, RULE_TESTS_FILES, RULES_FILE, rulesText } from '#deploy/observe/rule-files';
import { METRICS } from '#telemetry/metrics';
import { prometheusOrSkip } from '#test/support/servers/prometheus';

/** Timeout in ms. Test cases over three days take 20 s. */
const TEST_MS_MAX = 240_000;

const tools = await prometheusOrSkip();

const rules = tools.suite('the Prometheus rules');

rules('are accepted by promtool', async () => {
  const { isOk, output } = await run(['check', 'rules', basename(RULES_FILE)]);
  assert.ok(isOk, output);
  assert.match(output, /SUCCESS: \d+ rules found/);
});

for (const file of Object.values(RULE_TESTS_FILES)) {
  rules(`pass the test cases in ${basename(file)}`, async () => {
    const { isOk, output } = await run(['test', 'rules', basename(file)]);
    assert.ok(isOk, output);
  });
}

for (const [how, expr, verb] of [
  ['never fires', 'vector(0) > 1', 'fires'],
  ['always fires', 'vector(1)', 'does not fire'],
] as const) {
  rules(`fail their test cases if an alert ${how}`, async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), 'identity-engine-rules-'));
    const broken: { groups: { rules: { alert?: string; expr: string }[] }[] } = parse(rulesText());
    for (const rule of broken.groups.flatMap((group) => group.rules)) {
      if (rule.alert !== undefined) rule.expr = expr;
    }
    writeFileSync(join(folder.path, basename(RULES_FILE)), stringify(broken));
    const file = join(folder.path, 'rules.test.yml');
    cpSync(RULE_TESTS_FILES.minutes, file);
    const { isOk, output } = await run(['test', 'rules', file]);
    assert.not.ok(isOk);
    for (const { name, firing } of ALERTS) {
      if (firing.everyS !== undefined) continue;
      assert.ok(output.includes(`${name} ${verb}`), `${name} ${verb}: ${output}`);
    }
  });
}

const alerts = suite('an alert');

// Report 39: Alerts had no value, no cluster, and links that no one could click.
alerts(
  'has a description with value, a cluster label, and links with a configurable base address',
  () => {
    const { groups } = parse(rulesText()) as {
      groups: {
        rules: { alert?: string; labels?: object; annotations?: Record<string, string> }[];
      }[];
    };
    for (const rule of groups.flatMap(({ rules: each }) => each)) {
      if (rule.alert === undefined) continue;
      const { description = '', runbook_url = '', dashboard_url = '' } = rule.annotations ?? {};
      assert.match(description, /Value: \{\{ printf "%\.4g" \$value \}\}\.$/, rule.alert);
      assert.ok(runbook_url.startsWith('{{ $externalLabels.runbook_base }}docs/runbook.md#'));
      assert.match(dashboard_url, /^\{\{ \$externalLabels\.grafana_base \}\}\/d\/identity-engine-/);
      assert.is(Reflect.get(rule.labels ?? {}, 'cluster'), '{{ $externalLabels.cluster }}');
    }
  },
);

// Report 39: Links of alerts had no base address that someone could set.
alerts('uses only external labels that `make observe` sets', () => {
  const named = new Set(rulesText().match(/(?<=\$externalLabels\.)\w+/g));
  const cluster = clusterPlan({ folder: '/nowhere', ports: 8_400 });
  const { global } = parse(prometheusSettings(cluster, observePlan(cluster)));
  assert.equal(Object.keys(global.external_labels).toSorted(), [...named].toSorted());
});

// Report 39: An alert that was pending when its fault ended fired afterwards.
alerts('fires only if its expression holds for longer than the windows in the expression', () => {
  const { groups } = parse(rulesText()) as {
    groups: { rules: { alert?: string; expr: string; for: string }[] }[];
  };
  for (const { alert, expr, for: held } of groups.flatMap(({ rules: each }) => each)) {
    if (alert === undefined || held === '0s') continue;
    for (const [, minutes] of expr.matchAll(/(?:rate|increase|avg_over_time)\(\S*\[(\d+)m\]/g)) {
      assert.ok(Number.parseInt(held, 10) > Number(minutes) * 60, `${alert}: ${held}`);
    }
  }
});

// Report 39: A dead NATS paged once for each of nine processes.
alerts('for lost NATS connections fires once for all processes', () => {
  const bus = ALERTS.find(({ name }) => name === 'BusDisconnected');
  assert.is(bus?.expr, 'count(bus_connected == 0) > 0');
  assert.is(bus?.firing.labels, undefined);
  assert.ok(Object.keys(bus?.firing.series ?? {}).length > 1);
});

alerts('links to its section in the runbook', () => {
  const runbook = readFileSync('docs/runbook.md', 'utf8');
  const headings = [...runbook.matchAll(/^### (\w+)$/gm)].map(([, name = '']) => name);
  assert.equal(headings.toSorted(), ALERTS.map(({ name }) => name).toSorted());
  for (const alert of ALERTS) {
    assert.is(runbookOf(alert), `docs/runbook.md#${alert.name.toLowerCase()}`);
    const [, section = ''] = runbook.split(`### ${alert.name}\n`);
    const text = section.split(/^##/m)[0] ?? '';
    for (const part of ['**Means.**', '**Look at.**', '**Do.**']) {
      assert.ok(text.includes(part), `${alert.name}: ${part}`);
    }
  }
});

alerts('reads only metrics of the catalog, of Prometheus, or of recording rules', () => {
  for (const { name, expr } of ALERTS) {
    const read = [...expr.matchAll(/\b([a-z][a-z_]+_[a-z_]+)(?=[{[ )]|$)/g)];
    for (const [, metric = ''] of read) assert.ok(isKnown(metric), `${name} reads ${metric}`);
  }
});

alerts('has a test case in which it fires, and a different case in which it does not', () => {
  for (const { name, firing, quiet } of ALERTS) {
    assert.ok(Object.keys(firing.series).length > 0, name);
    assert.ok(Object.keys(quiet.series).length > 0, name);
    assert.not.equal(firing.series, quiet.series, name);
  }
});

function isKnown(word: string): boolean {
  const base = word.replace(/_(bucket|count|sum)$/, '');
  return base in METRICS || word in METRICS || FOREIGN.has(word);
}

/** PromQL functions, and metrics of prom-client. */
const FOREIGN = new Set([...['histogram_quantile', 'avg_over_time', 'process_start_time_seconds']]);

function run(args: readonly string[]) {
  const { promtool: program } = tools.programs;
  return runProgram({ program, args, folder: dirname(RULES_FILE), msMax: TEST_MS_MAX });
}

for (const group of [rules, alerts]) group.run();
