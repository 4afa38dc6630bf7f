import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite as plainSuite, type Test } from 'uvu';
import { systemClock } from '#stdlib/clock';
import type { SqliteFile } from '#storage/sqlite/file';
import { openServedFile } from '#storage/sqlite/open-file';

/** Takes every row out of tables: a store of its own for each part of a contract that opens many. */
export async function emptied(file: SqliteFile, ...tables: string[]): Promise<SqliteFile> {
  const statements = tables.map((table) => ({ sql: `DELETE FROM ${table}`, values: [] }));
  await file.write({ operation: 'emptied', statements });
  return file;
}

/** Files of a test in a folder of their own; `closing` is a suite that closes and removes them. */
export function scratchFiles() {
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-file-'));
  const opened: SqliteFile[] = [];
  let count = 0;
  return {
    folder,
    /** A path at which there is no file yet. */
    path(): string {
      count += 1;
      return join(folder, `${count}.db`);
    },
    /** A new file, open. */
    open(): SqliteFile {
      const file = openServedFile({ file: this.path(), clock: systemClock });
      opened.push(file);
      return file;
    },
    closing(): Test {
      const closing = plainSuite('the files of this test');
      closing('are closed and removed', async () => {
        for (const file of opened) await file[Symbol.asyncDispose]();
        rmSync(folder, { recursive: true });
      });
      return closing;
    },
  };
}
