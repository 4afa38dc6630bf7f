import type { Dashboard, Panel, Unit } from '#deploy/observe/dashboards/dashboard';

/** Width of a panel in Grafana's grid, which has 24 columns. */
const WIDTH = 12;
/** Height of a panel in rows of the grid. */
const HEIGHT = 8;

/** Version of Grafana's dashboard model in this file. */
const SCHEMA_VERSION = 39;

/** Grafana's names of the units. */
const UNITS: Readonly<Record<Unit, string>> = {
  seconds: 's',
  perSecond: 'ops',
  share: 'percentunit',
  count: 'none',
  bytes: 'bytes',
};

/** Data source, which a variable of the dashboard selects. */
const SOURCE = { type: 'prometheus', uid: '$datasource' } as const;

/** A Grafana variable within a longer text. */
const variable = (name: string) => `$\{${name}}`;

const queryVariable = (name: string, query: string) => ({
  ...{ name, type: 'query', datasource: SOURCE, query, refresh: 2 },
  ...{ multi: true, includeAll: true, allValue: '.*', current: { text: 'All', value: '$__all' } },
});

/** Variables that users select at the top of a dashboard. */
const VARIABLES = [
  { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
  queryVariable('job', 'label_values(up, job)'),
  queryVariable('instance', 'label_values(up{job=~"$job"}, instance)'),
  { name: 'runbook_base', label: 'Base address of the runbook', type: 'textbox', query: '' },
];

/** Selectors for the variables `job` and `instance`. */
const CHOSEN = 'job=~"$job",instance=~"$instance"';
/** Matches metrics of the service, but not of k6, which have other labels. */
const OWN_METRIC =
  /\b(?!k6_)([a-z]+(?:_[a-z0-9]+)+)(?![a-z_0-9:(]|\s*\()(?:\{([^}]*)\})?(?=\[|\)| |$|<|>)/g;

/**
 * Converts a panel's expression for Grafana. Adds selectors for jobs and instances, and replaces
 * the rate window by Grafana's `$__rate_interval`.
 */
export function grafanaExpr(expr: string): string {
  if (/\bslo:/.test(expr)) return expr;
  const grouped = expr.split(/(\bby \([^)]*\))/);
  const chosen = grouped.map((part) =>
    part.startsWith('by (') ? part : part.replaceAll(OWN_METRIC, chosenMetric),
  );
  return chosen.join('').replaceAll(/\[1m\]/g, '[$__rate_interval]');
}

function chosenMetric(found: string, name: string, labels: string | undefined): string {
  if (name === 'histogram_quantile') return found;
  return `${name}{${labels === undefined || labels === '' ? CHOSEN : `${labels},${CHOSEN}`}}`;
}

/** A dashboard as a JSON file for Grafana. */
export function grafanaJson(dashboard: Dashboard): string {
  const document = {
    uid: `identity-engine-${dashboard.id}`,
    title: `Identity Engine: ${dashboard.title}`,
    description: dashboard.about,
    tags: ['identity-engine'],
    schemaVersion: SCHEMA_VERSION,
    editable: true,
    refresh: '10s',
    time: { from: 'now-30m', to: 'now' },
    timezone: 'utc',
    templating: { list: VARIABLES },
    links: [
      {
        ...{ title: 'Runbook', type: 'link', icon: 'doc', targetBlank: true },
        url: `${variable('runbook_base')}docs/runbook.md`,
      },
    ],
    panels: dashboard.panels.map(panelJson),
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

function panelJson(panel: Panel, index: number) {
  const { title, about, unit, queries, limit } = panel;
  const steps = [
    { color: 'green', value: null },
    ...(limit === undefined ? [] : [{ color: 'red', value: limit }]),
  ];
  return {
    id: index + 1,
    type: 'timeseries',
    title,
    description: about,
    datasource: SOURCE,
    gridPos: {
      x: (index % 2) * WIDTH,
      y: Math.floor(index / 2) * HEIGHT,
      w: WIDTH,
      h: HEIGHT,
    },
    fieldConfig: {
      defaults: {
        unit: UNITS[unit],
        min: 0,
        custom: { thresholdsStyle: { mode: limit === undefined ? 'off' : 'line' } },
        thresholds: { mode: 'absolute', steps },
      },
      overrides: [],
    },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
    targets: queries.map(({ expr, legend }, place) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + place),
      datasource: SOURCE,
      expr: grafanaExpr(expr),
      legendFormat: legend,
    })),
  };
}
