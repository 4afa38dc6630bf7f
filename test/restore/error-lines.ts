import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Lowest log level of a bug, a 500 or a crash. */
const ERROR_LEVEL = 50;

/** Error lines in the cluster's logs since `sinceMs`. */
export function errorLines(logFolder: string, sinceMs: number): string[] {
  const files = globSync('*.log', { cwd: logFolder }).map((name) => join(logFolder, name));
  const lines = files.flatMap((path) => readFileSync(path, 'utf8').split('\n'));
  return lines.filter((line) => {
    // Skip lines of Cassandra and NATS.
    if (!line.startsWith('{"level":')) return false;
    const { level, time } = JSON.parse(line) as { readonly level: number; readonly time: string };
    return level >= ERROR_LEVEL && Date.parse(time) >= sinceMs;
  });
}
