import { DatabaseSync } from 'node:sqlite';

/** Milliseconds for which a connection waits for another program that writes: `ctl`, say. */
const BUSY_MS = 5_000;

/** Pages in the WAL from which on the writer copies them back into the file: 16 MiB. */
const WAL_PAGES = 4_096;

/**
 * A connection to the file whose commits are on disk when they return: in WAL, with an `fsync` for each.
 */
export function openConnection(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: BUSY_MS });
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = ${WAL_PAGES};
  `);
  return database;
}
