import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder for files of this run, with keys among them; gone when the process ends, however it ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
