import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { type Clock, systemClock } from '#platform/clock';
import { RESULT, resultCodeOf, UnusableFile, unusable } from '#storage/sqlite/failures';
import { makeFile, realFile } from '#storage/sqlite/paths';
import { markClosed, OPEN_APPLICATION_ID } from '#storage/sqlite/schema';
import { walOf } from '#storage/sqlite/wal';

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
      `CREATE TABLE IF NOT EXISTS holder (only INTEGER PRIMARY KEY, pid INTEGER, started_at_ms INTEGER,
        file_inode TEXT, lock_inode TEXT)`,
    );
    database
      .prepare('INSERT OR REPLACE INTO holder VALUES (1, ?, ?, ?, ?)')
      .run(process.pid, clock.wallMs(), inodeOf(file), inodeOf(lock));
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

/**
 * Throws `UnusableFile` for a file that took the place of another one while that was served: the WAL beside
 * it belongs to the other one, and SQLite would write it into this one. A folder that was copied has other
 * inodes for all of its files, and is taken.
 */
export function assertNotReplaced(file: string): void {
  const lock = ownerFileOf(realFile(file));
  const wal = walOf(file);
  const isWalThere = (statSync(wal, { throwIfNoEntry: false })?.size ?? 0) > 0;
  if (!isWalThere || inodeOf(lock) === '') return;
  const database = new DatabaseSync(lock, { readOnly: true });
  try {
    const sql = 'SELECT file_inode FROM holder WHERE lock_inode = ? AND file_inode <> ?';
    const others = database.prepare(sql).all(inodeOf(lock), inodeOf(file));
    if (others.length === 0) return;
  } catch {
    // No process has served the file, or one is beginning to.
    return;
  } finally {
    database.close();
  }
  throw new UnusableFile(
    `${file} took the place of another file that was served, and ${wal} belongs to that other one: put that one back, or remove ${wal} and ${file}-shm to lose what is in it (docs/runbook.md#the-file-is-not-at-its-place)`,
  );
}

/**
 * Closes a connection of a tool. If nothing serves the file, this may be the last connection, which
 * removes the WAL: then it takes the mark of an open file away first.
 */
export function closeBeside(database: DatabaseSync, file: string): void {
  try {
    const id = database.prepare('PRAGMA application_id').get()?.['application_id'];
    if (id !== OPEN_APPLICATION_ID) return;
    using _held = takeFile(file, systemClock);
    markClosed(database);
    database.close();
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw error;
    // A process serves it, and keeps its WAL.
  } finally {
    if (database.isOpen) database.close();
  }
}

/** Empty where nothing lies. */
function inodeOf(path: string): string {
  return `${statSync(path, { bigint: true, throwIfNoEntry: false })?.ino ?? ''}`;
}

function begin(database: DatabaseSync): void {
  database.exec('BEGIN IMMEDIATE');
}

function holderIn(database: DatabaseSync): Holder | undefined {
  try {
    const row = database.prepare('SELECT pid, started_at_ms FROM holder').get();
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

/**
 * Keeps a file from being served until it is disposed. Throws `UnusableFile`, which names the process
 * that serves it and says what to do.
 */
export function holdFile(file: string, clock: Pick<Clock, 'wallMs'>): Disposable {
  try {
    return takeFile(file, clock);
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw unusable(file, error);
    throw new UnusableFile(`${error.message}; stop that one first`, { cause: error });
  }
}

/** The same for a file that must be there. */
export function holdFileThere(file: string, clock: Pick<Clock, 'wallMs'>): Disposable {
  if (existsSync(file)) return holdFile(file, clock);
  throw new UnusableFile(`${file} is not there`);
}
