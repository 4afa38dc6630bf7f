import { closeSync, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

/** Returns when what was written to a file, or the names in a folder, are on the disk. */
export function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The same for the names in the folder that a file is in. */
export function syncFolderOf(file: string): void {
  sync(dirname(file));
}
