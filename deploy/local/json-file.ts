import { readFileSync } from 'node:fs';

/** What a file says as JSON; undefined if it is not there, or torn. */
export function readJson<Content>(file: string): Content | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
