import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Line numbers (from 1) by source file. */
export type Lines = Map<string, Set<number>>;

type Range = { readonly startOffset: number; readonly endOffset: number; readonly count: number };
type Report = {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly Range[] }[];
  }[];
};

/** Product code, without generated code and browser code. */
const PRODUCT = /^services\/(?!infrastructure\/grpc\/gen\/|programs\/console\/pages\/).*\.ts$/;

/**
 * Adds the product lines that a run reached, from its NODE_V8_COVERAGE folder. Node.js replaces
 * types by blanks, so that offsets equal the offsets in the source.
 */
export function addReachedLines(folder: string, reached: Lines): void {
  for (const name of readdirSync(folder)) {
    const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Report;
    for (const { url, functions } of result) {
      const file = url.startsWith('file:') ? relative('', fileURLToPath(url)) : '';
      if (!PRODUCT.test(file)) continue;
      const lines = reached.get(file) ?? new Set();
      reached.set(file, lines);
      const counted = linesRun(
        file,
        functions.flatMap(({ ranges }) => ranges),
      );
      for (const line of counted) lines.add(line);
    }
  }
}

/** Line numbers in ranges with a count above 0. Inner ranges follow their outer range. */
function linesRun(file: string, ranges: readonly Range[]): number[] {
  const starts = lineStarts(file);
  const isRun = new Array<boolean>(starts.length - 1).fill(false);
  for (const { startOffset, endOffset, count } of ranges) {
    const first = starts.findIndex((start) => start >= startOffset);
    if (first < 0) continue;
    // The first line of a function counts, although the line starts before the function.
    if (count > 0 && first > 0 && (starts[first] ?? 0) > startOffset) isRun[first - 1] = true;
    for (
      let line = first;
      (starts[line + 1] ?? Number.POSITIVE_INFINITY) <= endOffset + 1;
      line += 1
    ) {
      isRun[line] = count > 0;
    }
  }
  return isRun.flatMap((run, index) => (run ? [index + 1] : []));
}

const known = new Map<string, number[]>();

/** Offsets of all line starts and the file end. */
function lineStarts(file: string): number[] {
  const made = known.get(file) ?? [0];
  if (!known.has(file)) {
    for (const { index } of readFileSync(file, 'utf8').matchAll(/\n/g)) made.push(index + 1);
    known.set(file, made);
  }
  return made;
}

/** Line numbers as a short text: `1-3,7` for 1, 2, 3 and 7. */
export function packLines(lines: ReadonlySet<number>): string {
  const ranges: [number, number][] = [];
  for (const line of [...lines].sort((one, other) => one - other)) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === line - 1) last[1] = line;
    else ranges.push([line, line]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',');
}
