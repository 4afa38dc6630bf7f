import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';

/** How often the length of the WAL is looked at, in milliseconds. */
const LOOK_MS = 250;

/** Bytes from which on the WAL is copied back into the file, beside its writer. */
const COPIED_FROM_BYTES = 4 * 1_024 * 1_024;

/** Bytes from which on the writer waits while that is done, so that the WAL begins at its start again. */
const RESTARTED_FROM_BYTES = 64 * 1_024 * 1_024;

/**
 * Copies the WAL back into the file from a connection that does not write: the `fsync`s of that hold no
 * commit up. Where the writer never pauses, so that the WAL would grow without a bound, it waits once.
 */
export function keepWalShort(database: DatabaseSync, file: string): Disposable {
  const timer = setInterval(() => {
    const bytes = sizeOf(`${file}-wal`);
    if (bytes < COPIED_FROM_BYTES) return;
    try {
      database.exec('PRAGMA wal_checkpoint(PASSIVE)');
      if (bytes >= RESTARTED_FROM_BYTES) database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // A full disk, say: the writer meets and reports it, and this is tried again.
    }
  }, LOOK_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
