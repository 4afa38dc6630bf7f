import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Admin token for this test process, so that tests write nothing to a home folder. */
export const ADMIN_TOKEN = 'the-token-of-the-admin-ports-of-all-tests';

let file: string | undefined;

/** A file with the token for child processes. The file is deleted when this process exits. */
export function adminTokenFile(): string {
  if (file !== undefined) return file;
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-token-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  file = join(folder, 'token');
  writeFileSync(file, `${ADMIN_TOKEN}\n`, { mode: 0o600 });
  return file;
}
