/** A curve: its labels and its values over time. */
export type Curve = {
  readonly labels: Readonly<Record<string, string>>;
  /** Unix seconds and finite values. */
  readonly points: readonly (readonly [atS: number, value: number])[];
};

/** A time range and its step, in Unix seconds. */
export type TimeRange = { readonly fromS: number; readonly toS: number; readonly stepS: number };

/** Maximum time of a query, in milliseconds. */
const ANSWER_MS_MAX = 20_000;

type Answer = {
  readonly error?: string;
  readonly data?: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>;
      readonly values: readonly (readonly [number, string])[];
    }[];
  };
};

/** Queries the curves of an expression over a time range. Throws with Prometheus's message. */
export async function rangeQuery(
  address: string,
  expr: string,
  { fromS, toS, stepS }: TimeRange,
): Promise<Curve[]> {
  const wanted = { query: expr, start: `${fromS}`, end: `${toS}`, step: `${stepS}` };
  const url = `${address}/api/v1/query_range?${new URLSearchParams(wanted)}`;
  const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
  const { error, data } = (await response.json()) as Answer;
  if (data === undefined) throw new Error(`${expr}: ${error}`);
  return data.result.map(({ metric, values }) => ({
    labels: metric,
    points: values
      .map(([atS, value]) => [atS, Number(value)] as const)
      .filter(([, value]) => Number.isFinite(value)),
  }));
}

/** Name of a curve: the legend with filled-in labels. */
export function legendOf(legend: string, { labels }: Pick<Curve, 'labels'>): string {
  return legend.replace(/\{\{(\w+)\}\}/g, (_, label: string) => labels[label] ?? '').trim();
}
