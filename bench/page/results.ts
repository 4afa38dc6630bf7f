import { readFileSync, writeFileSync } from 'node:fs';
import type { Circumstance } from '#bench/measures/machine';
import type { Cell, Findings } from '#bench/page/part';

/** File with the newest results of every part, from which the page is written. */
export const RESULTS_FILE = 'bench/results.json';

/** Results of a part with the circumstances of their run. */
export type PartResults = Findings & {
  /** Time of the run, ISO 8601. */
  readonly date: string;
  /** Abbreviated hash, with a remark if the checkout had changes. */
  readonly commit: string;
  readonly machine: string;
  readonly versions: readonly Circumstance[];
  readonly minutes: number;
};

/** Results by the names of parts. */
export type Results = Readonly<Record<string, PartResults>>;

/** Reads the file of results. */
export function readResults(file = RESULTS_FILE): Results {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** Replaces the results of a part in the file, and returns all results. */
export function keepResults(name: string, found: PartResults): Results {
  const results = { ...readResults(), [name]: found };
  writeFileSync(RESULTS_FILE, `${JSON.stringify(results, null, 1)}\n`);
  return results;
}

/** Names of a cell. */
export type CellPlace = {
  readonly part: string;
  readonly table: string;
  readonly row: string;
  readonly column: string;
};

/** Finds a cell by its names; undefined if the results have no such cell. */
export function findCell(
  results: Results,
  { part, table, row, column }: CellPlace,
): Cell | undefined {
  const found = results[part]?.tables?.find(({ name }) => name === table);
  const index = found?.columns.findIndex(({ name }) => name === column) ?? -1;
  return found?.rows.find(({ name }) => name === row)?.cells[index];
}
