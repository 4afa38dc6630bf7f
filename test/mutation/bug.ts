import { globSync, readFileSync } from 'node:fs';

/** A hand-made bug: `was` occurs once in `file`. `fault` is the effect in one sentence. */
export type Bug = {
  readonly id: string;
  readonly file: string;
  readonly was: string;
  readonly becomes: string;
  readonly fault: string;
};

/** All hand-made bugs, in the order of their files. */
export function handMadeBugs(): Bug[] {
  return globSync('test/mutation/bugs/*.json')
    .sort()
    .flatMap((file) => JSON.parse(readFileSync(file, 'utf8')) as Bug[]);
}

/** The source with the bug. Throws if the source is not the one that the bug was written for. */
export function withBug(source: string, { id, file, was, becomes }: Bug): string {
  if (source.split(was).length !== 2) throw new Error(`${id} does not fit ${file}`);
  return source.replace(was, () => becomes);
}

/** The rows of a file with one line of JSON for each. */
export function linesOf<Row>(file: string): Row[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);
}
