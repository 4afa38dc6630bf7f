import { existsSync, linkSync, renameSync, rmSync } from 'node:fs';
import { openConnection } from '#storage/sqlite/connection';
import { markClosed } from '#storage/sqlite/file-schema';
import { keepOwner } from '#storage/sqlite/private-file';
import { sync, syncFolderOf } from '#storage/sqlite/synced';
import { walOf } from '#storage/sqlite/whole-file';

/**
 * Puts a whole and closed file in the place of another one, which nothing uses: at any instant there is the
 * one or the other. With `kept` the other one stays under that name, with its WAL.
 */
export function placeFile(whole: string, file: string, kept: string | undefined): void {
  keepOwner(whole, file);
  sync(whole);
  takeInWal(file);
  if (kept !== undefined) linkSync(file, kept);
  // Only of a file that SQLite cannot open: its pages are of no use without it, nor it to another file.
  if (existsSync(walOf(file))) {
    if (kept !== undefined) linkSync(walOf(file), walOf(kept));
    rmSync(walOf(file));
  }
  rmSync(`${file}-shm`, { force: true });
  syncFolderOf(file);
  renameSync(whole, file);
  syncFolderOf(file);
}

/** Has SQLite copy a WAL back that a crash has left, and remove it. */
export function takeInWal(file: string): void {
  if (!existsSync(walOf(file))) return;
  try {
    markFileClosed(file);
  } catch {
    // It is damaged: then the WAL stays beside it.
  }
}

/** Takes the mark of an open file away from a file that nothing uses, and removes its WAL. */
export function markFileClosed(file: string): void {
  const database = openConnection(file);
  try {
    markClosed(database);
  } finally {
    database.close();
  }
}

/** Removes a file that was not put in its place, with what SQLite has beside it. */
export function removeFile(file: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${file}${end}`, { force: true });
}
