import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Only the user of the service enters the folder of a file. */
const FOLDER_MODE = 0o700;

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

/** Makes the folder for a file where there is none; it is still there after a power loss. */
export function makeFolderOf(file: string): void {
  const folder = dirname(file);
  const first = mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
  if (first === undefined) return;
  for (let made = resolve(folder); made.length >= first.length; made = dirname(made)) {
    syncFolderOf(made);
  }
}
