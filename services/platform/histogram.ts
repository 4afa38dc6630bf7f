import { type Clock, systemClock } from '#platform/clock';
import { isSampled, traceIdOf } from '#platform/traceparent';

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
export type Exemplar = {
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
