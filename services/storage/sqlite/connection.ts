import { DatabaseSync } from 'node:sqlite';

/** Milliseconds for which a connection waits for another program that writes: `ctl`, say. */
const BUSY_MS = 5_000;

/** Memory for pages of each connection, in KiB. */
const CACHE_KIB = 65_536;

/**
 * A connection to the file whose commits are on disk when they return: in WAL, with an `fsync` for each.
 * The WAL is copied back by `keepWalShort` alone.
 */
export function openConnection(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: BUSY_MS });
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA cache_size = -${CACHE_KIB};
    PRAGMA temp_store = MEMORY;
  `);
  return database;
}
