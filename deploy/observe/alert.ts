/** A test case of an alert: series, and time of evaluation. */
export type AlertCase = {
  /** Series with values in the notation of `promtool test rules`: `0+5x20` is 0, 5, 10 … 100. */
  readonly series: Readonly<Record<string, string>>;
  /** Interval of the values, in seconds. Default: 15. */
  readonly everyS?: number;
  /** Time of evaluation, in seconds from the first value. */
  readonly atS: number;
  /** Expected labels of the firing alert, besides its severity. */
  readonly labels?: Readonly<Record<string, string>>;
};

/** An alert, with test cases in which the alert fires or does not fire. */
export type Alert = {
  /** Name of the alert; also the heading of its section in docs/runbook.md. */
  readonly name: string;
  /**
   * `page`: callers are affected now; respond at any hour. `ticket`: respond within a working day.
   */
  readonly severity: 'page' | 'ticket';
  readonly expr: string;
  /** Id of the dashboard with details. Default: `service`. */
  readonly dashboard?: 'engine' | 'limiter' | 'stores';
  /** Minimum duration of the fault, in seconds. The time windows of `expr` add to this duration. */
  readonly forS: number;
  /** One line, readable on a phone; may contain labels as `{{ $labels.service }}`. */
  readonly summary: string;
  readonly firing: AlertCase;
  readonly quiet: AlertCase;
  /** Further test cases in which the alert must not fire. */
  readonly alsoQuiet?: readonly AlertCase[];
};

/** Path of an alert's runbook section, from the root of the repository. */
export function runbookOf({ name }: Pick<Alert, 'name'>): string {
  return `docs/runbook.md#${name.toLowerCase()}`;
}

/** A recording rule: an expression with its name. */
export type Recording = { readonly record: string; readonly expr: string };
