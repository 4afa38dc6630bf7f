import { Counter, Gauge, type Metric, type Registry } from 'prom-client';
import { Histogram, type WallClock } from '#platform/histogram';

/** How a metric counts. */
export type MetricKind = 'counter' | 'gauge' | 'histogram';

/** A row of the catalog. */
export type MetricDefinition = {
  readonly kind: MetricKind;
  readonly help: string;
  readonly labels: readonly string[];
  /** Bounds of a histogram's buckets; of the others there are none. */
  readonly buckets?: readonly number[];
};

/** A row of the catalog: what only grows. */
export function counter<Label extends string = never>(help: string, ...labels: readonly Label[]) {
  return { kind: 'counter', help, labels } as const;
}

/** A row of the catalog: what is measured as it stands. */
export function gauge<Label extends string = never>(help: string, ...labels: readonly Label[]) {
  return { kind: 'gauge', help, labels } as const;
}

/** A row of the catalog: how often something was up to each of the bounds in `buckets`. */
export function histogram<Label extends string = never>(
  buckets: readonly number[],
  help: string,
  ...labels: readonly Label[]
) {
  return { kind: 'histogram', help, labels, buckets } as const;
}

/** A metric of the catalog, registered. */
export function makeMetric(
  name: string,
  definition: MetricDefinition,
  registry: Registry,
  clock: WallClock,
) {
  const { help, buckets } = definition;
  const common = { name, help, labelNames: [...definition.labels], registers: [registry] };
  switch (definition.kind) {
    case 'counter':
      return new Counter(common);
    case 'gauge':
      return new Gauge(common);
    case 'histogram': {
      const histogram = new Histogram(name, help, buckets ?? [], clock);
      registry.registerMetric(histogram as unknown as Metric);
      // Without labels it is shown from the first scrape on, as the library would.
      if (definition.labels.length === 0) histogram.labels({});
      return histogram;
    }
  }
}
