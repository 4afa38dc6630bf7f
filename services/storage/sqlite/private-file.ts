import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { syncFolderOf } from '#storage/sqlite/synced';

/** Only the user of the service enters the folder of a file, and reads it and what lies beside it. */
const FOLDER_MODE = 0o700;

/** Rights of a file, without its type. */
const MODE_BITS = 0o777;

/** The same of a file. */
export const FILE_MODE = 0o600;

/**
 * Makes an empty file where there is none. To be done before anything locks it: closing a file drops
 * every lock that the process has on it.
 */
export function makeFile(path: string): void {
  if (existsSync(path)) return;
  closeSync(openSync(path, 'a', FILE_MODE));
  // Of root alone: a file of another user in a folder that this user may write to stays this user's.
  if (process.getuid?.() === 0) giveTo(path, statSync(dirname(path)));
}

/**
 * Gives a new file the owner and the mode of the file whose place it takes; without one, the owner of
 * the folder. A program that root runs would otherwise leave what the service cannot open.
 */
export function keepOwner(made: string, file: string): void {
  const replaced = statSync(file, { throwIfNoEntry: false });
  giveTo(made, replaced ?? statSync(dirname(file)));
  if (replaced !== undefined) chmodSync(made, replaced.mode & MODE_BITS);
}

function giveTo(made: string, { uid, gid }: { readonly uid: number; readonly gid: number }): void {
  const own = statSync(made);
  if (own.uid !== uid || own.gid !== gid) chownSync(made, uid, gid);
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
