import { globSync, readFileSync } from 'node:fs';
import { type Bound, boundsIn, boundText } from '#deploy/documents/bounds-in-source';
import { tableLines } from '#deploy/documents/markdown-table';

/** The model's constants are no bounds, and the API's examples bound nothing that runs. */
const ELSEWHERE = ['services/wire/gen/**', 'services/identity/**'];

/** Every bound of the services by the path of its file. Throws for one that says nothing of itself. */
export function boundsByFile(): ReadonlyMap<string, readonly Bound[]> {
  const files = globSync('services/**/*.ts', { exclude: ELSEWHERE }).toSorted();
  const found = files.map((path) => [path, boundsIn(path, readFileSync(path, 'utf8'))] as const);
  for (const [path, bounds] of found) {
    for (const { name, meaning } of bounds) {
      if (meaning === '') throw new Error(`${path}: ${name} has no doc line`);
    }
  }
  return new Map(found.filter(([, bounds]) => bounds.length > 0));
}

/** A chapter for every folder of `services` that has bounds. */
export function boundLines(): string[] {
  const chapters = new Map<string, string[][]>();
  for (const [path, bounds] of boundsByFile()) {
    const [, folder = ''] = path.split('/');
    const file = path.slice('services/'.length, -'.ts'.length);
    const rows = bounds.map((bound) => [
      `\`${bound.name}\``,
      boundText(bound),
      bound.meaning,
      `\`${file}\``,
    ]);
    chapters.set(folder, [...(chapters.get(folder) ?? []), ...rows]);
  }
  return [...chapters].flatMap(([folder, rows], index) => [
    ...(index === 0 ? [] : ['']),
    `## ${folder}`,
    '',
    ...tableLines(['Bound', 'Value', 'What it bounds, and why', 'File'], rows),
  ]);
}
