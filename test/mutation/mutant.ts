/** A replacement in a source text, with string offsets. */
export type Edit = {
  readonly operator: string;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
};

/** A small change of one file, which a test should detect. */
export type Mutant = Edit & {
  readonly file: string;
  /** Innermost enclosing named function with its class; '' at module level. */
  readonly within: string;
  readonly line: number;
  /** Changed lines before and after, each joined into one line. */
  readonly was: string;
  readonly becomes: string;
};

/** Applies an edit to a source text. */
export function edited(source: string, { start, end, replacement }: Edit): string {
  return source.slice(0, start) + replacement + source.slice(end);
}

/** Name of a mutant, stable while its function and lines are unchanged. */
export function nameOf({ file, within, was, becomes }: Mutant): string {
  return [file, within, was, becomes].join('\n');
}
