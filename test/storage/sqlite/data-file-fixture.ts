import { readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import * as assert from 'uvu/assert';
import { systemClock } from '#stdlib/clock';
import type { DataFile } from '#storage/ports/data-file';
import { sqliteDataFile } from '#storage/sqlite/backup';
import { UnusableFile } from '#storage/sqlite/failures';
import type { SqliteFile } from '#storage/sqlite/file';
import { openServedFile } from '#storage/sqlite/open-file';
import { CheckedTable } from '#storage/sqlite/tables';
import type { scratchFiles } from '#test/storage/sqlite/scratch-file';

type ScratchFiles = Pick<ReturnType<typeof scratchFiles>, 'path'>;

/** A table for test rows. */
export const FACTS = new CheckedTable({ name: 'cluster_facts', keys: ['fact'], others: ['value'] });
/** Ignores progress. */
export const silent = () => undefined;

/** Long text, so that a file has many pages. */
export const LONG = 'long text '.repeat(300);

/** Opens a file as `ctl` does. */
export const dataFile = (path: string): DataFile => sqliteDataFile(path, systemClock);

/** Cleanly closed file with `rows` rows of `text`. */
export async function closedFile(files: ScratchFiles, rows: number, text = LONG): Promise<string> {
  const path = files.path();
  await using file = openServedFile({ file: path, clock: systemClock });
  await putFacts(file, rows, text);
  return path;
}

/** Rows per transaction. Even a busy machine writes a transaction well before its deadline. */
const ROWS_A_WRITE = 20_000;

/** Inserts `rows` rows with `text` into the table `FACTS`. */
export async function putFacts(file: SqliteFile, rows: number, text: string): Promise<void> {
  for (let first = 0; first < rows; first += ROWS_A_WRITE) {
    const statements = Array.from({ length: Math.min(ROWS_A_WRITE, rows - first) }, (_, row) =>
      FACTS.put([`fact ${first + row}`, text]),
    );
    assert.ok(await file.write({ operation: 'put', statements }));
  }
}

/** Distinct texts in an idle file. */
export function textsIn(path: string): string[] {
  const database = new DatabaseSync(path);
  const rows = database.prepare(
    "SELECT DISTINCT value FROM cluster_facts WHERE fact LIKE 'fact %'",
  );
  const texts = rows.all().map(({ value }) => String(value));
  database.close();
  return texts;
}

/** Returns the rejection of `work`. */
export async function rejection(work: () => Promise<unknown>): Promise<unknown> {
  return await work().then(
    () => assert.unreachable('the call must reject'),
    (error: unknown) => error,
  );
}

/** Returns the one-line refusal of work on a file. */
export async function refusal(work: () => Promise<unknown>): Promise<string> {
  const error = await rejection(work);
  assert.instance(error, UnusableFile, String(error));
  assert.not.match((error as Error).message, /\n/);
  return (error as Error).message;
}

/** Changes a byte at the first occurrence of a text. */
export function damage(path: string, text: string): void {
  const bytes = readFileSync(path);
  const at = bytes.indexOf(text);
  assert.ok(at > 0);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}
