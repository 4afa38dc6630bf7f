/** A query of a panel, for one or more curves. */
export type Query = {
  readonly expr: string;
  /** Name of each curve: plain text, or labels as `{{instance}}`. */
  readonly legend: string;
};

/** Units that Grafana and the pictures support. */
export type Unit = 'seconds' | 'perSecond' | 'share' | 'count' | 'bytes';

/** A chart over time. */
export type Panel = {
  readonly title: string;
  /** Meaning of the panel, in a short sentence. */
  readonly about: string;
  readonly unit: Unit;
  readonly queries: readonly Query[];
  /** Threshold, drawn as a line. */
  readonly limit?: number;
  /** Reason why the panel may have no series; undefined if the panel always has series. */
  readonly mayBeEmpty?: string;
};

/** A page of panels, two panels side by side. */
export type Dashboard = {
  /** Name of the dashboard's files, and part of its address in Grafana. */
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly panels: readonly Panel[];
};

/** Queries for the median and p99 of a histogram over the last minute, by labels. */
export function quantiles(metric: string, by: readonly string[] = [], filter = ''): Query[] {
  const labels = [...by, 'le'].join(', ');
  const names = by.map((label) => `{{${label}}}`).join(' ');
  return [0.5, 0.99].map((share) => ({
    expr: `histogram_quantile(${share}, sum by (${labels}) (rate(${metric}_bucket${filter}[1m])))`,
    legend: `${names} p${share * 100}`.trim(),
  }));
}

/** Query for the rate per second over the last minute, by labels. */
export function perSecond(metric: string, by: readonly string[] = [], filter = ''): Query {
  const grouped = by.length === 0 ? '' : `by (${by.join(', ')}) `;
  return {
    expr: `sum ${grouped}(rate(${metric}${filter}[1m]))`,
    legend: by.length === 0 ? 'all' : by.map((label) => `{{${label}}}`).join(' '),
  };
}
