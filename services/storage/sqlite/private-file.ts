import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { syncFolderOf } from '#storage/sqlite/synced';

/** Only the user of the service enters the folder of a file, and reads it and what lies beside it. */
const FOLDER_MODE = 0o700;

/** The same of a file. */
export const FILE_MODE = 0o600;

/**
 * Makes an empty file where there is none. To be done before anything locks it: closing a file drops
 * every lock that the process has on it.
 */
export function makeFile(path: string): void {
  if (!existsSync(path)) closeSync(openSync(path, 'a', FILE_MODE));
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
