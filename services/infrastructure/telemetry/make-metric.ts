import { Counter, Gauge, type Metric, type Registry } from 'prom-client';
import { type Clock, systemClock } from '#stdlib/clock';
import { isSampled, traceIdOf } from '#telemetry/tracer';

/** Kind of a metric. */
export type MetricKind = 'counter' | 'gauge' | 'histogram';

/** Definition of a metric in the catalog. */
export type MetricDefinition = {
  readonly kind: MetricKind;
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram's buckets. Undefined for other kinds. */
  readonly buckets?: readonly number[];
};

/** Definition of a counter, which only grows. */
export function counter<Label extends string = never>(help: string, ...labels: readonly Label[]) {
  return { kind: 'counter', help, labels } as const;
}

/** Definition of a gauge, which can rise and fall. */
export function gauge<Label extends string = never>(help: string, ...labels: readonly Label[]) {
  return { kind: 'gauge', help, labels } as const;
}

/** Definition of a histogram with the upper bounds `buckets`. */
export function histogram<Label extends string = never>(
  buckets: readonly number[],
  help: string,
  ...labels: readonly Label[]
) {
  return { kind: 'histogram', help, labels, buckets } as const;
}

/** Creates and registers a metric of the catalog. */
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
      // Like prom-client, shows a series without labels from the first scrape on.
      if (definition.labels.length === 0) histogram.labels({});
      return histogram;
    }
  }
}

/** Clock that timestamps exemplars. */
export type WallClock = Pick<Clock, 'wallMs'>;

/** Label values of a series. */
type LabelValues<Label extends string> = Partial<Record<Label, string | number>>;

/** Line in the result of a scrape. */
type ScrapedValue = {
  readonly metricName: string;
  readonly labels: LabelValues<string>;
  readonly value: number;
  readonly exemplar?: Exemplar;
};

/** Exemplar of a bucket: an observation with a recorded trace, in the form of a scrape. */
type Exemplar = {
  readonly labelSet: { readonly trace_id: string };
  readonly value: number;
  /** Time of the observation, in Unix seconds. */
  readonly timestamp: number;
};

/**
 * Histogram that a prom-client registry can hold (the registry uses only `name` and `get`). The
 * library's own histogram builds and looks up a text of all labels at every observation. This takes
 * 1.3 µs in a loop, more in cold code, several times per request. Here labels are bound in advance,
 * and an observation is only an addition.
 */
export class Histogram<Label extends string> {
  readonly name: string;
  readonly #help: string;
  readonly #bounds: Float64Array;
  readonly #clock: WallClock;
  readonly #series = new Map<string, HistogramSeries>();

  constructor(
    name: string,
    help: string,
    bounds: readonly number[],
    clock: WallClock = systemClock,
  ) {
    this.name = name;
    this.#clock = clock;
    this.#help = help;
    this.#bounds = Float64Array.from(bounds);
  }

  /**
   * Series of these label values, shown from the next scrape on. Callers should keep the result.
   */
  labels(labels: LabelValues<Label>): HistogramSeries {
    const key = JSON.stringify(labels);
    const series = this.#series.get(key) ?? new HistogramSeries(labels, this.#bounds, this.#clock);
    this.#series.set(key, series);
    return series;
  }

  /** Scrape result for the registry. */
  get() {
    const values = [...this.#series.values()].flatMap((series) => series.scraped(this.name));
    return { name: this.name, help: this.#help, type: 'histogram', aggregator: 'sum', values };
  }
}

/** Observations for one combination of label values. */
export class HistogramSeries {
  readonly #labels: LabelValues<string>;
  readonly #bounds: Float64Array;
  readonly #clock: WallClock;
  /** Observations per bucket, not cumulative. The last entry counts values above all bounds. */
  readonly #counts: Float64Array;
  #sum = 0;
  /**
   * Newest exemplar of each bucket. Undefined before the first exemplar, and always without
   * tracing.
   */
  #exemplars: (Exemplar | undefined)[] | undefined;

  constructor(labels: LabelValues<string>, bounds: Float64Array, clock: WallClock) {
    this.#labels = labels;
    this.#clock = clock;
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  /**
   * Counts a value, and keeps it as an exemplar if its trace is recorded. Throws `RangeError` for
   * values that are not finite, because they would make the sum useless.
   */
  observe(value: number, traceparent?: string | undefined): void {
    if (!Number.isFinite(value)) throw new RangeError(`a histogram cannot count ${value}`);
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] as number)) at += 1;
    this.#counts[at] = (this.#counts[at] as number) + 1;
    this.#sum += value;
    if (traceparent !== undefined && isSampled(traceparent)) {
      const labelSet = { trace_id: traceIdOf(traceparent) };
      this.#exemplars ??= [];
      this.#exemplars[at] = { labelSet, value, timestamp: this.#clock.wallMs() / 1_000 };
    }
  }

  /** Lines of a scrape. Buckets are cumulative, as Prometheus requires. */
  scraped(name: string): ScrapedValue[] {
    const labels = this.#labels;
    let count = 0;
    const buckets = [...this.#counts].map((added, at) => {
      count += added;
      const le = this.#bounds[at] ?? '+Inf';
      const line = { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
      const exemplar = this.#exemplars?.[at];
      return exemplar === undefined ? line : { ...line, exemplar };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: this.#sum },
      { metricName: `${name}_count`, labels, value: count },
    ];
  }
}

/** Content type of `openMetricsText`. Source: OpenMetrics 1.0. */
export const OPEN_METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** Sample of a registry, for a scrape. */
type Sample = {
  readonly metricName?: string;
  readonly labels: Partial<Record<string, string | number>>;
  readonly value: number;
  readonly exemplar?: Exemplar | null;
};

/** Metric of a registry, with its samples. */
type MetricFamily = {
  readonly name: string;
  readonly help: string;
  readonly type: unknown;
  readonly values: readonly Sample[];
};

/**
 * Metrics in the OpenMetrics format, which supports exemplars, unlike the Prometheus format. The
 * library is not used for this, because its registry permanently renames every counter when it
 * writes OpenMetrics. The Prometheus format would then have the wrong names.
 */
export function openMetricsText(families: readonly MetricFamily[]): string {
  return `${families.map(familyText).join('')}# EOF\n`;
}

/** Whether an `Accept` header names OpenMetrics and does not prefer plain text. */
export function acceptsOpenMetrics(accept: string | undefined): boolean {
  const open = weightOf('application/openmetrics-text', accept);
  return open > 0 && open >= weightOf('text/plain', accept);
}

/** Weight of a type in an `Accept` header, 0 to 1. Source: RFC 9110, 12.4.2. */
function weightOf(type: string, accept = ''): number {
  const weights = accept.split(',').flatMap((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    if (name !== type) return [];
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    return [weight === undefined ? 1 : Number(weight.slice(2)) || 0];
  });
  return Math.max(0, ...weights);
}

function familyText({ name, help, type, values }: MetricFamily): string {
  // The family name of a counter lacks the suffix `_total` of its samples.
  const family = type === 'counter' ? name.replace(/_total$/, '') : name;
  const head = `# TYPE ${family} ${String(type)}\n# HELP ${family} ${escaped(help)}\n`;
  return head + values.map((sample) => sampleText(name, sample)).join('');
}

function sampleText(name: string, { metricName = name, labels, value, exemplar }: Sample): string {
  const line = `${metricName}${labelsText(labels)} ${numberText(value)}`;
  if (!exemplar) return `${line}\n`;
  const { labelSet, value: shown, timestamp } = exemplar;
  return `${line} # ${labelsText(labelSet)} ${numberText(shown)} ${timestamp.toFixed(3)}\n`;
}

function labelsText(labels: Partial<Record<string, string | number>>): string {
  const pairs = Object.entries(labels).map(
    ([label, value]) => `${label}="${escaped(String(value))}"`,
  );
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}
