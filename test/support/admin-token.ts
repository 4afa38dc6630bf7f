import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What the admin ports of this test process ask for, so that nothing is left in anybody's home. */
export const ADMIN_TOKEN = 'the-token-of-the-admin-ports-of-all-tests';

let file: string | undefined;

/** A file with that token, for processes that a test starts; it goes with this process. */
export function adminTokenFile(): string {
  if (file !== undefined) return file;
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-token-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  file = join(folder, 'token');
  writeFileSync(file, `${ADMIN_TOKEN}\n`, { mode: 0o600 });
  return file;
}
