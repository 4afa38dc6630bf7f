import { readFileSync } from 'node:fs';

/** Content of a JSON file; undefined if the file is missing or invalid. */
export function readJson<Content>(file: string): Content | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
