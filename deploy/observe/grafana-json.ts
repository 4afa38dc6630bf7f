import type { Dashboard, Panel, Unit } from '#deploy/observe/dashboards/dashboard';

/** Size of a panel in Grafana's grid, which is 24 wide. */
const WIDTH = 12;
const HEIGHT = 8;

/** The version of Grafana's dashboard model that this is written in. */
const SCHEMA_VERSION = 39;

/** Grafana's names for the units. */
const UNITS: Readonly<Record<Unit, string>> = {
  seconds: 's',
  perSecond: 'ops',
  share: 'percentunit',
  count: 'none',
  bytes: 'bytes',
};

/** The provisioned source, by the id that deploy/compose.yaml gives it. */
const SOURCE = { type: 'prometheus', uid: 'prometheus' } as const;

/** A dashboard as Grafana reads it from a file. */
export function grafanaJson(dashboard: Dashboard): string {
  const document = {
    uid: `identity-engine-${dashboard.id}`,
    title: `Identity Engine: ${dashboard.title}`,
    description: dashboard.about,
    tags: ['identity-engine'],
    schemaVersion: SCHEMA_VERSION,
    editable: false,
    refresh: '10s',
    time: { from: 'now-30m', to: 'now' },
    timezone: 'utc',
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
      expr,
      legendFormat: legend,
    })),
  };
}
