import { DatabaseSync } from 'node:sqlite';
import type { Clock } from '#platform/clock';
import { makeFile } from '#storage/sqlite/private-file';
import { realFile } from '#storage/sqlite/real-file';
import { RESULT, resultCodeOf } from '#storage/sqlite/result-code';
import { UnusableFile } from '#storage/sqlite/unusable-file';

/** Who serves a file, as those who find it taken are shown. */
type Holder = { readonly pid: number; readonly startedAtMs: number };

/** The file whose lock says that another one is served, and by whom. */
export function ownerFileOf(file: string): string {
  return `${file}-owner`;
}

/**
 * Takes a file for this process until it is disposed. The lock is SQLite's on a file beside it, so the
 * kernel drops it when the process ends, however it does. Throws `UnusableFile`, which names the holder.
 */
export function takeFile(file: string, clock: Pick<Clock, 'wallMs'>): Disposable {
  const lock = ownerFileOf(realFile(file));
  // Made by SQLite it would be every user's to read.
  makeFile(lock);
  const database = new DatabaseSync(lock);
  try {
    database.exec('PRAGMA synchronous = FULL');
    begin(database);
    database.exec(
      'CREATE TABLE IF NOT EXISTS owner (only INTEGER PRIMARY KEY, pid INTEGER, started_at_ms INTEGER)',
    );
    database
      .prepare('INSERT OR REPLACE INTO owner VALUES (1, ?, ?)')
      .run(process.pid, clock.wallMs());
    database.exec('COMMIT');
    // Held from here on, and others can read who holds it.
    begin(database);
    const found = holderIn(database);
    if (found?.pid !== process.pid) throw taken(file, found);
    return { [Symbol.dispose]: () => database.close() };
  } catch (error) {
    const isBusy = resultCodeOf(error) === RESULT.busy;
    const found = isBusy ? holderIn(database) : undefined;
    database.close();
    throw isBusy ? taken(file, found) : error;
  }
}

function begin(database: DatabaseSync): void {
  database.exec('BEGIN IMMEDIATE');
}

function holderIn(database: DatabaseSync): Holder | undefined {
  try {
    const row = database.prepare('SELECT pid, started_at_ms FROM owner').get();
    return row && { pid: Number(row['pid']), startedAtMs: Number(row['started_at_ms']) };
  } catch {
    // It is being written at this moment.
    return undefined;
  }
}

function taken(file: string, holder: Holder | undefined): UnusableFile {
  const who =
    holder === undefined
      ? 'another process'
      : `process ${holder.pid}, since ${new Date(holder.startedAtMs).toISOString()}`;
  return new UnusableFile(`${file} is served by ${who}: one process serves a file`);
}
