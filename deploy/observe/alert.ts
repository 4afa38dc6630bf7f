/** A situation as Prometheus sees it: what its series are, and when it is looked at. */
export type AlertCase = {
  /** Series and their values, in the notation of `promtool test rules`: `0+5x20` is 0, 5, 10 … 100. */
  readonly series: Readonly<Record<string, string>>;
  /** How far apart the values are, in seconds; 15 unless given. */
  readonly everyS?: number;
  /** When it is looked at, in seconds from the first value. */
  readonly atS: number;
  /** Labels of the alert beside its severity, where it fires. */
  readonly labels?: Readonly<Record<string, string>>;
};

/** Something that a person must know, and the two situations that prove when it fires. */
export type Alert = {
  /** Its name, and the heading of its section in docs/runbook.md. */
  readonly name: string;
  /** `page`: callers suffer now, at any hour. `ticket`: within a working day. */
  readonly severity: 'page' | 'ticket';
  readonly expr: string;
  /** Id of the dashboard that shows more; `service` unless given. */
  readonly dashboard?: 'engine' | 'limiter' | 'stores';
  /** How long the fault must last, in seconds; windows of `expr` are added. */
  readonly forS: number;
  /** One line for a phone; may name labels as `{{ $labels.service }}`. */
  readonly summary: string;
  readonly firing: AlertCase;
  readonly quiet: AlertCase;
  /** Further situations in which it must not fire. */
  readonly alsoQuiet?: readonly AlertCase[];
};

/** Where an alert's section is, from the root of the repository. */
export function runbookOf({ name }: Pick<Alert, 'name'>): string {
  return `docs/runbook.md#${name.toLowerCase()}`;
}

/** A recorded expression under a name of its own. */
export type Recording = { readonly record: string; readonly expr: string };
