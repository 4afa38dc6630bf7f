import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/**
 * The path of a file with no symbolic link in it, as SQLite takes it: what lies beside the file must be
 * found by every path that leads to it. Of a file that is not there its folder's, as far as that is.
 */
export function realFile(file: string): string {
  return realIf(file) ?? join(realIf(dirname(file)) ?? resolve(dirname(file)), basename(file));
}

function realIf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
