import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DASHBOARDS } from '#deploy/observe/dashboards/all';
import { perSecond, quantiles } from '#deploy/observe/dashboards/dashboard';
import { METRICS, type MetricName } from '#telemetry/metrics';
import { declaredMetrics, K6_LABELS, k6Series } from '#test/deploy/k6-series';

/*
 * Tests the panels that may be empty. A scrape cannot prove that the metrics of such a panel exist.
 * Therefore the test compares metric names and labels with the metrics of the service and of k6.
 */

/** Labels that Prometheus adds, and the bucket label of histograms. */
const ADDED = ['job', 'instance', 'le'];

/** PromQL keywords. */
const KEYWORDS = new Set(['and', 'or', 'unless', 'bool', 'offset']);

const GROUPING = /\b(?:by|without|on|ignoring|group_left|group_right) ?\(([^)]*)\)/g;
const MATCHERS = /\{([^}]*)\}/g;

/** Labels of a metric; undefined if unknown. */
function labelsOf(name: string): ReadonlySet<string> | undefined {
  if (k6Series().has(name)) return K6_LABELS;
  const family = name.replace(/_(?:bucket|sum|count)$/, '');
  const { kind, labels } = METRICS[family as MetricName] ?? {};
  if (kind === undefined || (kind === 'histogram') === (family === name)) return undefined;
  return new Set([...labels, ...ADDED]);
}

/**
 * Unknown metric names in an expression. If all names are known: unknown labels. If the expression
 * contains no metric: the expression.
 */
function unknownNamesIn(expr: string): string[] {
  const grouped = [...expr.matchAll(GROUPING)].flatMap(([, names = '']) => names.split(', '));
  const matched = [...expr.matchAll(MATCHERS)].flatMap(([, text = '']) =>
    [...text.matchAll(/(\w+) ?[!=]/g)].map(([, label = '']) => label),
  );
  const rest = expr
    .replace(GROUPING, ' ')
    .replace(MATCHERS, ' ')
    .replace(/\[\w+\]/g, ' ');
  const names = [...rest.matchAll(/\b[a-z_:][\w:]*\b(?!\s*\()/gi)].map(([name]) => name);
  const metrics = names.filter((name) => !KEYWORDS.has(name));
  const unknown = metrics.filter((name) => labelsOf(name) === undefined);
  const known = metrics.flatMap((name) => [...(labelsOf(name) ?? [])]);
  const foreign = [...grouped, ...matched].filter((label) => !known.includes(label));
  if (metrics.length === 0) return [expr];
  return unknown.length > 0 ? unknown : foreign;
}

const panels = suite('a panel that may be empty');

for (const { title, panels: shown } of DASHBOARDS) {
  for (const { title: panel, queries, mayBeEmpty } of shown) {
    if (mayBeEmpty === undefined) continue;
    panels(`queries existing metrics: ${title}: ${panel}`, () => {
      assert.equal(
        queries.flatMap(({ expr }) => unknownNamesIn(expr)),
        [],
      );
    });
  }
}

const checked = suite('the check of names');

for (const [expr, unknownNames] of [
  ['max by (name) (k6_http_req_duration_p99)', []],
  ['max by (name) (k6_http_req_duration_p98)', ['k6_http_req_duration_p98']],
  ['max by (nam) (k6_http_req_duration_p99)', ['nam']],
  ['sum(rate(k6_http_reqs[1m]))', ['k6_http_reqs']],
  ['sum(k6_vus) / sum(vus)', ['vus']],
  ['k6_available_rate < 0.999', []],
  ['k6_availble_rate < 0.999', ['k6_availble_rate']],
  ['sum(rate(k6_refusal_duration_total[1m]))', ['k6_refusal_duration_total']],
  [quantiles('journal_append_seconds')[0]?.expr ?? '', []],
  [quantiles('journal_apend_seconds')[0]?.expr ?? '', ['journal_apend_seconds_bucket']],
  ['rate(journal_append_seconds[1m])', ['journal_append_seconds']],
  [perSecond('bus_dropped_total', ['reason', 'instance']).expr, []],
  [perSecond('bus_dropped_total', ['reasons']).expr, ['reasons']],
  [perSecond('bus_dropped_count', ['reason']).expr, ['bus_dropped_count']],
  [perSecond('bus_dropped_total', [], '{why!=""}').expr, ['why']],
] as const) {
  checked(`${unknownNames.length === 0 ? 'accepts' : 'rejects'} ${expr}`, () => {
    assert.equal(unknownNamesIn(expr), unknownNames);
  });
}

checked('finds the metrics that load test scripts declare', () => {
  const { available, wrong_answers, refusal_duration } = declaredMetrics();
  assert.equal([available, wrong_answers, refusal_duration], ['rate', 'counter', 'trend']);
});

for (const group of [panels, checked]) group.run();
