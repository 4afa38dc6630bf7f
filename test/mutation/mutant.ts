/** A replacement in a source text, from offset `start` to `end`. */
export type Edit = {
  readonly operator: string;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
};

/** A small change of one file that a test should detect. */
export type Mutant = Edit & {
  readonly file: string;
  /** Innermost enclosing named function with its class; '' at module level. */
  readonly within: string;
  readonly line: number;
  /** Text of the changed lines before and after the edit, each joined into one line. */
  readonly was: string;
  readonly becomes: string;
};

export function edited(source: string, { start, end, replacement }: Edit): string {
  return source.slice(0, start) + replacement + source.slice(end);
}

/** Name of a mutant. Stays the same while the function and the lines are unchanged. */
export function nameOf({ file, within, was, becomes }: Mutant): string {
  return [file, within, was, becomes].join('\n');
}
