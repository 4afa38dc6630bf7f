import { stringify } from 'yaml';
import { type Alert, type AlertCase, type Recording, runbookOf } from '#deploy/observe/alert';
import { CLUSTER_ALERTS } from '#deploy/observe/cluster-alerts';
import { CONSOLE_ALERTS } from '#deploy/observe/console-alerts';
import { CREDENTIAL_ALERTS } from '#deploy/observe/credential-alerts';
import { FIRING_VALUES } from '#deploy/observe/firing-values';
import { SERVICE_ALERTS } from '#deploy/observe/service-alerts';
import { longSloRecordings, sloAlerts, sloRecordings } from '#deploy/observe/slo-rules';
import { STORE_ALERTS } from '#deploy/observe/store-alerts';

/** Rule file for Prometheus. The test files refer to this name. */
export const RULES_FILE = 'deploy/observe/rules.yml';

/** Test files for `promtool test rules`: alerts over minutes, and alerts over hours and days. */
export const RULE_TESTS_FILES = {
  minutes: 'deploy/observe/rules.test.yml',
  days: 'deploy/observe/rules-slo.test.yml',
} as const;

/** Rule file for the Prometheus operator, with the same rules. */
export const PROMETHEUS_RULE_FILE = 'deploy/kubernetes/components/monitoring/prometheus-rules.yaml';

const GENERATED = '# Generated from deploy/observe/*.ts by `npm run generate`.\n';

/** Evaluation interval in the tests, in seconds. With 15 s, tests over days would take too long. */
const TEST_STEP_S = { minutes: 15, days: 240 } as const;

type Group = {
  readonly name: string;
  readonly interval?: string;
  readonly recordings: readonly Recording[];
  readonly alerts: readonly Alert[];
};

/** All rule groups. */
const GROUPS: readonly Group[] = [
  { name: 'slo', recordings: sloRecordings(), alerts: [] },
  { name: 'slo-long', interval: '1m', recordings: longSloRecordings(), alerts: [] },
  { name: 'slo-alerts', recordings: [], alerts: sloAlerts() },
  { name: 'service', recordings: [], alerts: SERVICE_ALERTS },
  { name: 'cluster', recordings: [], alerts: CLUSTER_ALERTS },
  { name: 'stores', recordings: [], alerts: STORE_ALERTS },
  { name: 'credentials', recordings: [], alerts: CREDENTIAL_ALERTS },
  { name: 'console', recordings: [], alerts: CONSOLE_ALERTS },
];

/** All alerts. */
export const ALERTS: readonly Alert[] = GROUPS.flatMap(({ alerts }) => alerts);

/** All recording rules. */
export const RECORDINGS: readonly Recording[] = GROUPS.flatMap(({ recordings }) => recordings);

/** The rules as YAML for Prometheus. */
export function rulesText(): string {
  return yaml({ groups: groups() });
}

/** The rules as YAML of a resource for the Prometheus operator. */
export function prometheusRuleText(): string {
  return yaml({
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'identity-engine' },
    spec: { groups: groups() },
  });
}

function groups(): readonly object[] {
  return GROUPS.map(({ name, interval, recordings, alerts }) => ({
    name,
    ...(interval === undefined ? {} : { interval }),
    rules: [...recordings, ...alerts.map(ruleOf)],
  }));
}

/** External labels of the Prometheus that runs the tests. */
const EXTERNAL_LABELS = {
  cluster: 'test',
  runbook_base: 'https://docs.example.com/',
  grafana_base: 'https://grafana.example.com',
} as const;

/** Test cases over minutes or over days, as YAML for promtool. */
export function ruleTestsText(kind: keyof typeof RULE_TESTS_FILES): string {
  const alerts = ALERTS.filter(
    ({ firing }) => (firing.everyS === undefined) === (kind === 'minutes'),
  );
  return yaml({
    rule_files: ['rules.yml'],
    evaluation_interval: `${TEST_STEP_S[kind]}s`,
    group_eval_order: GROUPS.map(({ name }) => name),
    tests: alerts.flatMap((alert) => [
      testOf(alert, 'fires', alert.firing, [expectedOf(alert)]),
      testOf(alert, 'does not fire', alert.quiet, []),
      ...(alert.alsoQuiet ?? []).map((each) =>
        testOf(alert, 'does not fire in another case', each, []),
      ),
    ]),
  });
}

function ruleOf(alert: Alert) {
  const { name, severity, expr, forS } = alert;
  return {
    alert: name,
    expr,
    for: `${holdS(expr, forS)}s`,
    labels: { severity, cluster: '{{ $externalLabels.cluster }}' },
    annotations: annotationsOf(alert),
  };
}

/**
 * Seconds that an expression must hold before its alert fires: `forS` plus the longest window of
 * the expression. After a fault has ended, a window contains the fault until the window has passed.
 * Without the additional time, a pending alert would fire after the end of the fault.
 */
function holdS(expr: string, forS: number): number {
  return forS === 0 ? 0 : forS + Math.max(0, ...windowsOf(expr));
}

/** Lengths of the windows in an expression, in seconds. */
function windowsOf(expr: string): readonly number[] {
  const windows = [...expr.matchAll(/(?:rate|increase|avg_over_time)\([^[]*\[(\d+)m\]/g)];
  return windows.map(([, minutes]) => Number(minutes) * 60);
}

/** Base URLs of links in alerts, from Prometheus's external labels. */
const RUNBOOK_BASE = '{{ $externalLabels.runbook_base }}';
const GRAFANA_BASE = '{{ $externalLabels.grafana_base }}';

function annotationsOf(alert: Alert) {
  return {
    summary: alert.summary,
    description: `${alert.summary}. Value: {{ printf "%.4g" $value }}.`,
    runbook_url: `${RUNBOOK_BASE}${runbookOf(alert)}`,
    dashboard_url: `${GRAFANA_BASE}/d/identity-engine-${alert.dashboard ?? 'service'}`,
  };
}

function testOf(
  alert: Alert,
  verb: string,
  { series, everyS, atS }: AlertCase,
  expected: object[],
) {
  return {
    name: `${alert.name} ${verb}`,
    interval: `${everyS ?? TEST_STEP_S.minutes}s`,
    external_labels: EXTERNAL_LABELS,
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    alert_rule_test: [{ eval_time: `${atS}s`, alertname: alert.name, exp_alerts: expected }],
  };
}

/** Labels and annotations that promtool must find, with filled-in label values. */
function expectedOf(alert: Alert) {
  const { labels = {} } = alert.firing;
  const value = FIRING_VALUES[alert.name] ?? '?';
  const external: Readonly<Record<string, string>> = EXTERNAL_LABELS;
  const filled = Object.entries(annotationsOf(alert)).map(([name, text]) => [
    name,
    text
      .replace(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => labels[label] ?? '')
      .replace(/\{\{ \$externalLabels\.(\w+) \}\}/g, (_, label: string) => external[label] ?? '')
      .replace('{{ printf "%.4g" $value }}', value),
  ]);
  return {
    exp_labels: { severity: alert.severity, cluster: EXTERNAL_LABELS.cluster, ...labels },
    exp_annotations: Object.fromEntries(filled),
  };
}

function yaml(document: object): string {
  return GENERATED + stringify(document, { lineWidth: 0, aliasDuplicateObjects: false });
}
