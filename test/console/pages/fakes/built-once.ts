import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPages } from '#deploy/console/build-pages';

let built: Promise<string> | undefined;

/** Folder of the console's pages, built once per process. The exit of the process deletes it. */
export function builtOnce(): Promise<string> {
  built ??= buildInTemporaryFolder();
  return built;
}

async function buildInTemporaryFolder(): Promise<string> {
  const parent = mkdtempSync(join(tmpdir(), 'console-pages-'));
  process.once('exit', () => rmSync(parent, { recursive: true, force: true }));
  const folder = join(parent, 'built');
  await buildPages(folder);
  return folder;
}
