/** One curve or a family of curves of a panel. */
export type Query = {
  readonly expr: string;
  /** What each curve is called: plain text, or labels as `{{instance}}`. */
  readonly legend: string;
};

/** Units that Grafana and the pictures know. */
export type Unit = 'seconds' | 'perSecond' | 'share' | 'count' | 'bytes';

/** A chart over time. */
export type Panel = {
  readonly title: string;
  /** Meaning of the panel, in one short sentence. */
  readonly about: string;
  readonly unit: Unit;
  readonly queries: readonly Query[];
  /** A value that should not be crossed, drawn as a line. */
  readonly limit?: number;
  /** Only a cluster in trouble, or under k6, has series for it; the reason why. */
  readonly mayBeEmpty?: string;
};

/** A page of panels, two in a row. */
export type Dashboard = {
  /** Its address in Grafana and the name of its files. */
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly panels: readonly Panel[];
};

/** Quantiles of a histogram over the last minute, by these labels. */
export function quantiles(metric: string, by: readonly string[] = [], filter = ''): Query[] {
  const labels = [...by, 'le'].join(', ');
  const names = by.map((label) => `{{${label}}}`).join(' ');
  return [0.5, 0.99].map((share) => ({
    expr: `histogram_quantile(${share}, sum by (${labels}) (rate(${metric}_bucket${filter}[1m])))`,
    legend: `${names} p${share * 100}`.trim(),
  }));
}

/** How often something happens a second, over the last minute, by these labels. */
export function perSecond(metric: string, by: readonly string[] = [], filter = ''): Query {
  const grouped = by.length === 0 ? '' : `by (${by.join(', ')}) `;
  return {
    expr: `sum ${grouped}(rate(${metric}${filter}[1m]))`,
    legend: by.length === 0 ? 'all' : by.map((label) => `{{${label}}}`).join(' '),
  };
}
