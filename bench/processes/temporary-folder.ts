import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folders: string[] = [];

process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Creates a folder for this run's files, including keys. Removes the folder at process exit. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-bench-'));
  folders.push(folder);
  return folder;
}
