/** Input of every part of the scale run. */
type ScaleRun = {
  /** Whether the run is a smoke test, whose figures mean nothing. */
  readonly isQuick: boolean;
  /** Prints one progress line. */
  readonly print: (line: string) => void;
};

/** A figure of a part; informational without a target. */
export type ScaleFigure = {
  readonly what: string;
  /** Target such as `≤ 20 ms`; empty without a target. */
  readonly target: string;
  readonly reached: string;
  /** Whether the target is met; true without a target. */
  readonly isMet: boolean;
  /** A value for each column of a part that has columns. */
  readonly cells?: readonly string[];
};

/** A part of the scale run: a question and its measurement. */
export type ScalePart = {
  /** Name for `--only`. */
  readonly name: string;
  readonly title: string;
  /** How to read the table; absent if the rows explain themselves. */
  readonly about?: string;
  /** Columns of the table, instead of target and reached value. */
  readonly columns?: readonly string[];
  readonly measure: (run: ScaleRun) => Promise<readonly ScaleFigure[]>;
};

/** A figure with an upper bound as its target. */
export function atMost(
  what: string,
  reached: number,
  most: number,
  unit: string,
  decimals = 0,
): ScaleFigure {
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
export function figure(what: string, reached: string): ScaleFigure {
  return { what, target: '', reached, isMet: true };
}
