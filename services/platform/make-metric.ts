import { Counter, Gauge, type Metric, type Registry } from 'prom-client';
import { type Clock, systemClock } from '#platform/clock';
import { isSampled, traceIdOf } from '#platform/tracer';

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

/** What says when an example was counted. */
export type WallClock = Pick<Clock, 'wallMs'>;

/** The values of a series' labels, by label. */
type LabelValues<Label extends string> = Partial<Record<Label, string | number>>;

/** One line of a scrape. */
type ScrapedValue = {
  readonly metricName: string;
  readonly labels: LabelValues<string>;
  readonly value: number;
  readonly exemplar?: Exemplar;
};

/** One observation of a bucket whose trace is recorded, in the form that a scrape shows. */
type Exemplar = {
  readonly labelSet: { readonly trace_id: string };
  readonly value: number;
  /** Unix time in seconds. */
  readonly timestamp: number;
};

/**
 * A histogram that a prom-client registry can hold (it asks for `name` and `get` only). Its own
 * kind because the library's makes and looks up a text of all labels at every observation: 1.3 µs
 * in a loop, more in cold code, several times a request. Here labels are bound once and an
 * observation is an addition.
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

  /** The series of these label values, shown from the next scrape on. Ask once and keep it. */
  labels(labels: LabelValues<Label>): HistogramSeries {
    const key = JSON.stringify(labels);
    const series = this.#series.get(key) ?? new HistogramSeries(labels, this.#bounds, this.#clock);
    this.#series.set(key, series);
    return series;
  }

  /** What a registry shows at a scrape. */
  get() {
    const values = [...this.#series.values()].flatMap((series) => series.scraped(this.name));
    return { name: this.name, help: this.#help, type: 'histogram', aggregator: 'sum', values };
  }
}

/** Counts the observations of one set of label values. */
export class HistogramSeries {
  readonly #labels: LabelValues<string>;
  readonly #bounds: Float64Array;
  readonly #clock: WallClock;
  /** How many were at most each bound and above the one before; last, how many were above all. */
  readonly #counts: Float64Array;
  #sum = 0;
  /** The newest of each bucket; none before the first, as where nothing is traced. */
  #exemplars: (Exemplar | undefined)[] | undefined;

  constructor(labels: LabelValues<string>, bounds: Float64Array, clock: WallClock) {
    this.#labels = labels;
    this.#clock = clock;
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  /**
   * Counts one value, and keeps it as an example if the trace it is of is recorded. Throws `RangeError`
   * for what is no number: it would spoil the sum for good.
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

  /** The lines of a scrape; buckets are cumulative, as Prometheus wants them. */
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

/** The content type of the text below. Source: OpenMetrics 1.0. */
export const OPEN_METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** One line of a scrape, as a registry gives it. */
type Sample = {
  readonly metricName?: string;
  readonly labels: Partial<Record<string, string | number>>;
  readonly value: number;
  readonly exemplar?: Exemplar | null;
};

/** One metric of a registry, with its lines. */
type MetricFamily = {
  readonly name: string;
  readonly help: string;
  readonly type: unknown;
  readonly values: readonly Sample[];
};

/**
 * Metrics as OpenMetrics, which unlike Prometheus' own text has a place for exemplars. Not by the
 * library: its registry renames every counter for good when it writes this form, and the other form
 * then has the wrong names.
 */
export function openMetricsText(families: readonly MetricFamily[]): string {
  return `${families.map(familyText).join('')}# EOF\n`;
}

/** Whether a scraper's `Accept` names OpenMetrics, and does not like Prometheus' own text better. */
export function acceptsOpenMetrics(accept: string | undefined): boolean {
  const open = weightOf('application/openmetrics-text', accept);
  return open > 0 && open >= weightOf('text/plain', accept);
}

/** How much an `Accept` likes a type that it names, 0 to 1. Source: RFC 9110, 12.4.2. */
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
  // A counter's family has no suffix, its samples do.
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
