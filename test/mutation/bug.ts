import { globSync, readFileSync } from 'node:fs';

/** A bug written by hand: `was`, which occurs once in `file`, is replaced by `becomes`. */
export type Bug = {
  readonly id: string;
  readonly file: string;
  readonly was: string;
  readonly becomes: string;
  /** Effect of the bug in one sentence. */
  readonly fault: string;
};

/** All bugs written by hand, ordered by file name. */
export function handMadeBugs(): Bug[] {
  return globSync('test/mutation/bugs/*.json')
    .sort()
    .flatMap((file) => JSON.parse(readFileSync(file, 'utf8')) as Bug[]);
}

/** Source with the bug. Throws unless `was` occurs exactly once. */
export function withBug(source: string, { id, file, was, becomes }: Bug): string {
  if (source.split(was).length !== 2) {
    throw new Error(`${id}: "was" does not occur once in ${file}; update the bug`);
  }
  return source.replace(was, () => becomes);
}

/** Reads a file of JSON lines. */
export function linesOf<Row>(file: string): Row[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);
}
