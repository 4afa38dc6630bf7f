/** A part of a source that is replaced by another text; offsets as in a string. */
export type Edit = {
  readonly operator: string;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
};

/** One small change of one file, which the tests should notice. */
export type Mutant = Edit & {
  readonly file: string;
  /** The innermost named function around it, with its class; '' at the top of the module. */
  readonly within: string;
  readonly line: number;
  /** The lines it stands in, before and after, in one line each. */
  readonly was: string;
  readonly becomes: string;
};

/** The text of a file with one edit made. */
export function edited(source: string, { start, end, replacement }: Edit): string {
  return source.slice(0, start) + replacement + source.slice(end);
}

/** What names a mutant for as long as its function and its lines stay as they are. */
export function nameOf({ file, within, was, becomes }: Mutant): string {
  return [file, within, was, becomes].join('\n');
}
