import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { SqlValue } from '#storage/sqlite/database';
import { checksumOf } from '#storage/sqlite/row-checksum';

/** Milliseconds for which a connection waits for another program that writes: `ctl`, say. */
export const BUSY_MS = 5_000;

/** Pages in the WAL from which on the writer copies them back into the file: 16 MiB. */
const WAL_PAGES = 4_096;

/** Bytes that the WAL keeps at most once it has been copied back: a backup makes it grow. */
const WAL_BYTES_KEPT = 64 * 1_024 * 1_024;

/**
 * A connection to the file whose commits are on disk when they return: in WAL, with an `fsync` for each.
 * SQL may call `row_checksum(table, columns …)` there. Throws where no file is: SQLite would make one,
 * and remove the WAL beside an empty file.
 */
export function openConnection(file: string): DatabaseSync {
  const url = pathToFileURL(file);
  url.search = 'mode=rw';
  const database = new DatabaseSync(url, { timeout: BUSY_MS });
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = ${WAL_PAGES};
    PRAGMA journal_size_limit = ${WAL_BYTES_KEPT};
  `);
  const options = { deterministic: true, varargs: true };
  database.function('row_checksum', options, (name, ...values) =>
    checksumOf(String(name), values as SqlValue[]),
  );
  return database;
}
