import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { WireCase } from '#test/clients/cases/wire-case';

/** JSON Schema of case files. */
export const CASE_SCHEMA = 'clients/cases/case.schema.json';

/** Committed wire cases, by file name. */
export function caseFiles(): Map<string, { readonly text: string; readonly cases: WireCase[] }> {
  const paths = globSync('clients/cases/*.json').filter((path) => path !== CASE_SCHEMA);
  return new Map(
    paths.sort().map((path) => {
      const text = readFileSync(path, 'utf8');
      return [basename(path, '.json'), { text, cases: JSON.parse(text).cases }];
    }),
  );
}
