import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite as plainSuite, type Test } from 'uvu';
import { systemClock } from '#stdlib/clock';
import type { SqliteFile } from '#storage/sqlite/file';
import { openServedFile } from '#storage/sqlite/open-file';

/** Deletes all rows of tables, so that each part of a contract has an empty store. */
export async function emptied(file: SqliteFile, ...tables: string[]): Promise<SqliteFile> {
  const statements = tables.map((table) => ({ sql: `DELETE FROM ${table}`, values: [] }));
  await file.write({ operation: 'emptied', statements });
  return file;
}

/** Files of a test in their own folder. The suite `closing` closes and deletes the files. */
export function scratchFiles() {
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-file-'));
  const opened: SqliteFile[] = [];
  let count = 0;
  return {
    folder,
    /** An unused path. */
    path(): string {
      count += 1;
      return join(folder, `${count}.db`);
    },
    /** Opens a new file. */
    open(): SqliteFile {
      const file = openServedFile({ file: this.path(), clock: systemClock });
      opened.push(file);
      return file;
    },
    closing(): Test {
      const closing = plainSuite('the files of this test');
      closing('are closed and deleted', async () => {
        for (const file of opened) await file[Symbol.asyncDispose]();
        rmSync(folder, { recursive: true });
      });
      return closing;
    },
  };
}
