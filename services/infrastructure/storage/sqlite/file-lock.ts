import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { type Clock, systemClock } from '#stdlib/clock';
import { RESULT, resultCodeOf, UnusableFile, unusable } from '#storage/sqlite/failures';
import { makeFile, realFile } from '#storage/sqlite/paths';
import { markClosed, OPEN_APPLICATION_ID } from '#storage/sqlite/schema';
import { walOf } from '#storage/sqlite/wal';

/** Process that serves a file. Shown to other processes that find the file locked. */
type Holder = { readonly pid: number; readonly startedAtMs: number };

/**
 * Path of the lock file for `file`. Its lock marks the file as served. Its row names the holder.
 */
export function ownerFileOf(file: string): string {
  return `${file}-owner`;
}

/**
 * Locks a file for this process until disposal. SQLite locks a separate lock file, so the kernel
 * drops the lock however the process ends. Throws `UnusableFile`, which names the holder.
 */
export function takeFile(file: string, clock: Pick<Clock, 'wallMs'>): Disposable {
  const lock = ownerFileOf(realFile(file));
  // A lock file created by SQLite would be readable for every user.
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
    // This open transaction is the lock. Other processes can still read the holder.
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
 * Throws `UnusableFile` for a file that replaced another file while that file was served. The WAL
 * at the path belongs to the replaced file, and SQLite would write that WAL into the new file. A
 * copied folder is accepted, because its lock file has another inode than the recorded inode.
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
    // No process has served the file yet, or a process is about to serve it.
    return;
  } finally {
    database.close();
  }
  throw new UnusableFile(
    `${file} has replaced another file while that file was served, and ${wal} belongs to the replaced file: put the replaced file back, or remove ${wal} and ${file}-shm and lose their content (docs/runbook.md#the-file-is-not-at-its-place)`,
  );
}

/**
 * Closes a connection of a tool. If no process serves the file, this connection may be the last,
 * and its close removes the WAL. In that case the open mark is removed first.
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
    // A process serves the file and keeps its WAL.
  } finally {
    if (database.isOpen) database.close();
  }
}

/** Inode at a path; empty if the path does not exist. */
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
    // Another process is writing the row at this moment.
    return undefined;
  }
}

function taken(file: string, holder: Holder | undefined): UnusableFile {
  const who =
    holder === undefined
      ? 'another process'
      : `process ${holder.pid}, since ${new Date(holder.startedAtMs).toISOString()}`;
  return new UnusableFile(`${file} is served by ${who}, and only one process may serve a file`);
}

/**
 * Locks a file until disposal, so that no process can serve it. Throws `UnusableFile`, which names
 * the serving process and the next step.
 */
export function holdFile(file: string, clock: Pick<Clock, 'wallMs'>): Disposable {
  try {
    return takeFile(file, clock);
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw unusable(file, error);
    throw new UnusableFile(`${error.message}; stop that process first`, { cause: error });
  }
}

/** Locks a file that must exist, as `holdFile` does. */
export function holdFileThere(file: string, clock: Pick<Clock, 'wallMs'>): Disposable {
  if (existsSync(file)) return holdFile(file, clock);
  throw new UnusableFile(`${file} does not exist`);
}
