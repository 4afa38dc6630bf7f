import type { Spread } from '#bench/measures/statistics';

/** Groups of parts. A group runs in at most 30 minutes on two cores. */
export const GROUPS = [
  ...(['memory', 'features', 'durable', 'engines', 'frameworks', 'many'] as const),
  ...(['file', 'limiter', 'accounts', 'latency', 'growth', 'fail-over'] as const),
];

/** Name of a group. */
export type Group = (typeof GROUPS)[number];

/** Program or server that a part needs on the machine, besides Node.js. */
export type Tool = 'wrk' | 'k6' | 'postgres' | 'redis' | 'cassandra';

/** A number: a single measurement, or the median of several measurements with their range. */
export type Quantity = number | Spread;

/** Cell of a table: text, a quantity, or quantities by name, such as CPU time by process. */
export type Cell = string | Quantity | Readonly<Record<string, Quantity>>;

/** Column of a table, and the number of decimals of its quantities. */
export type Column = { readonly name: string; readonly decimals?: number };

/** A table of measurements. Programs find a cell by the names of table, row and column. */
export type Table = {
  /** Heading above the table; empty without a heading. */
  readonly name: string;
  readonly columns: readonly Column[];
  readonly rows: readonly { readonly name: string; readonly cells: readonly Cell[] }[];
};

/** A figure with an optional target. */
export type Figure = {
  readonly what: string;
  /** Target such as `≤ 20 ms`; empty without a target. */
  readonly target: string;
  readonly reached: string;
  /** Whether the target is met; true without a target. */
  readonly isMet: boolean;
};

/** Results of a part. */
export type Findings = {
  readonly figures?: readonly Figure[];
  readonly tables?: readonly Table[];
  /** Sentences about this run, such as the reason for a missing peer. */
  readonly notes?: readonly string[];
  /** Reasons for which rounds are void. A part with a void round makes the run fail. */
  readonly problems?: readonly string[];
};

/** Input of every part. */
export type Run = {
  /** Whether the run is a smoke test, whose figures mean nothing. */
  readonly isQuick: boolean;
  /** Names of the compared servers to measure; undefined for all. */
  readonly servers?: ReadonlySet<string> | undefined;
  /** Prints one progress line. */
  readonly print: (line: string) => void;
};

/** A part of the benchmark: a question and its measurement. */
export type Part = {
  /** Name for `--only`. */
  readonly name: string;
  readonly group: Group;
  readonly title: string;
  /** Method, and how to read the tables. */
  readonly about: string;
  /** Reasons for missed targets. The page shows the reasons only if a target is missed. */
  readonly missed?: string;
  readonly needs?: readonly Tool[];
  /** Whether a quick run leaves out the part, unless an argument names the part or its group. */
  readonly isLong?: boolean;
  readonly measure: (run: Run) => Promise<Findings>;
};

/** A figure with an upper bound as its target. */
export function atMost(
  what: string,
  reached: number,
  most: number,
  unit: string,
  decimals = 0,
): Figure {
  const textOf = (value: number) =>
    `${value.toLocaleString('en', { maximumFractionDigits: decimals })} ${unit}`;
  return {
    what,
    target: `≤ ${textOf(most)}`,
    reached: textOf(reached),
    isMet: reached <= most,
  };
}

/** An informational figure without a target. */
export function figure(what: string, reached: string): Figure {
  return { what, target: '', reached, isMet: true };
}
