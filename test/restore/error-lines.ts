import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Level of a line about a bug, a 500 or the end of a process. */
const ERROR_LEVEL = 50;

/** The errors that the processes of a cluster have logged since then. */
export function errorLines(logFolder: string, sinceMs: number): string[] {
  const files = globSync('*.log', { cwd: logFolder }).map((name) => join(logFolder, name));
  const lines = files.flatMap((path) => readFileSync(path, 'utf8').split('\n'));
  return lines.filter((line) => {
    // Other lines are those of Cassandra and NATS.
    if (!line.startsWith('{"level":')) return false;
    const { level, time } = JSON.parse(line) as { readonly level: number; readonly time: string };
    return level >= ERROR_LEVEL && Date.parse(time) >= sinceMs;
  });
}
