/** What every part of the scale run receives. */
type ScaleRun = {
  /** A small run, to see that everything works: its figures mean nothing. */
  readonly isQuick: boolean;
  /** Says what happens, one line at a time. */
  readonly print: (line: string) => void;
};

/** One figure of a part. Without a target it is for orientation. */
export type ScaleFigure = {
  readonly what: string;
  /** `≤ 20 ms`; empty for none. */
  readonly target: string;
  readonly reached: string;
  /** Whether the target is met; true without one. */
  readonly isMet: boolean;
  /** A value for each column of a part that has columns. */
  readonly cells?: readonly string[];
};

/** A question about size, and how it is answered by measuring. */
export type ScalePart = {
  /** As `--only` takes it. */
  readonly name: string;
  readonly title: string;
  /** Columns of the table, instead of target, reached value and verdict. */
  readonly columns?: readonly string[];
  readonly measure: (run: ScaleRun) => Promise<readonly ScaleFigure[]>;
};

/** A figure with an upper bound in a unit. */
export function atMost(
  what: string,
  reached: number,
  most: number,
  unit: string,
  decimals = 0,
): ScaleFigure {
  const text = `${reached.toLocaleString('en', { maximumFractionDigits: decimals })} ${unit}`;
  return {
    what,
    target: `≤ ${most.toLocaleString('en')} ${unit}`,
    reached: text,
    isMet: reached <= most,
  };
}

/** A figure for orientation. */
export function figure(what: string, reached: string): ScaleFigure {
  return { what, target: '', reached, isMet: true };
}
