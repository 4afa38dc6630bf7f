import {
  closeSync,
  existsSync,
  fdatasyncSync,
  linkSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { backup, DatabaseSync } from 'node:sqlite';
import { setImmediate as yieldToEvents } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { Clock } from '#stdlib/clock';
import { CorruptState } from '#storage/ports/bytes';
import type { CheckedBackup, DataFile, FileContents, WatchWork } from '#storage/ports/data-file';
import { bytesOf, type Row } from '#storage/sqlite/database';
import { UnusableFile, unusable } from '#storage/sqlite/failures';
import {
  assertNotReplaced,
  closeBeside,
  holdFile,
  holdFileThere,
  ownerFileOf,
} from '#storage/sqlite/file-lock';
import { FILE_MODE, keepOwner, makeFolderOf, sync, syncFolderOf } from '#storage/sqlite/paths';
import {
  assertKnown,
  assertOwnSchema,
  markClosed,
  versionOf,
  versionOfFile,
} from '#storage/sqlite/schema';
import { CheckedTable, openConnection, SUM_MODULUS } from '#storage/sqlite/tables';
import { assertWhole, walOf } from '#storage/sqlite/wal';

/** Backup, restore and vacuum of a whole SQLite file. */
export function sqliteDataFile(path: string, clock: Pick<Clock, 'wallMs'>): DataFile {
  return {
    path,
    backup: (target, watch) => withFileErrors(path, () => backUp(path, target, watch)),
    openBackup: (backup, watch, isWithoutWal = false) =>
      withFileErrors(backup, () => openBackup({ file: path, backup, isWithoutWal }, clock, watch)),
    vacuum: (watch) => withFileErrors(path, () => vacuum(path, clock, watch)),
  };
}

async function backUp(file: string, target: string, watch: WatchWork): Promise<FileContents> {
  assertOwn(file);
  await copyCommitted(file, target, watch);
  return await checkFile(target, watch);
}

/** Throws `UnusableFile` unless the file exists, is whole and has tables of this program. */
function assertOwn(file: string): void {
  if (!existsSync(file)) throw new UnusableFile(`${file} does not exist`);
  assertNotReplaced(file);
  assertWhole(file);
  const version = versionOfFile(file);
  if (version === 0) throw new UnusableFile(`${file} has no tables`);
  assertKnown(version, file);
}

/** Backup, the file to restore, and whether the backup may lack its WAL. */
type BackupChoice = {
  readonly file: string;
  readonly backup: string;
  readonly isWithoutWal: boolean;
};

async function openBackup(
  { file, backup, isWithoutWal }: BackupChoice,
  clock: Pick<Clock, 'wallMs'>,
  watch: WatchWork,
): Promise<CheckedBackup> {
  if (!existsSync(backup)) throw new UnusableFile(`${backup} does not exist`);
  const replaces = existsSync(file);
  if (replaces && realpathSync(backup) === realpathSync(file)) {
    throw new UnusableFile(`${backup} is the file to restore: name another backup`);
  }
  assertWhole(backup, isWithoutWal);
  makeFolderOf(file);
  await using opening = new AsyncDisposableStack();
  opening.use(holdFile(file, clock));
  // A backup can be a file that a process served. No process may serve that file now.
  if (existsSync(ownerFileOf(backup))) opening.use(holdFile(backup, clock));
  const copy = `${file}.restoring`;
  opening.defer(() => removeFile(copy));
  await copyBytes(backup, copy, watch);
  if (existsSync(walOf(backup))) {
    await copyBytes(walOf(backup), walOf(copy), () => undefined);
    takeInWal(copy);
  } else if (isWithoutWal) markFileClosed(copy);
  const contents = await checkFile(copy, watch).catch((error: unknown) => {
    if (error instanceof UnusableFile) throw new UnusableFile(error.message.replace(copy, backup));
    throw error;
  });
  const opened = opening.move();
  return {
    contents,
    replaces,
    async place() {
      const stamp = new Date(clock.wallMs()).toISOString().replaceAll(':', '');
      const kept = replaces ? `${file}.before-${stamp}` : undefined;
      placeFile(copy, file, kept);
      return kept;
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function vacuum(file: string, clock: Pick<Clock, 'wallMs'>, watch: WatchWork) {
  using _held = holdFileThere(file, clock);
  assertOwn(file);
  const copy = `${file}.vacuumed`;
  try {
    removeFile(copy);
    // Exclusive creation: an existing file would keep its creator as owner and its mode.
    closeSync(openSync(copy, 'wx', FILE_MODE));
    const database = openConnection(file);
    try {
      markClosed(database);
      database.prepare('VACUUM INTO ?').run(copy);
    } finally {
      database.close();
    }
    await checkFile(copy, watch);
    const sizes = { before: statSync(file).size, after: statSync(copy).size };
    placeFile(copy, file, undefined);
    return sizes;
  } finally {
    removeFile(copy);
  }
}

/** Runs `work`. Turns an error of the system or of SQLite into one line about the file. */
async function withFileErrors<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw unusable(file, error);
  }
}

/** Pages that SQLite copies between two calls of `watch`: 2 MiB. */
const PAGES = 512;

/**
 * Bytes copied between two syncs. A single `fsync` at the end would delay the commits of a service
 * on the same disk.
 */
const SYNCED_BYTES = 8 * 1_024 * 1_024;

/**
 * Copies the committed state of a file at one moment into `target`, while other processes write to
 * the file. The writers do not wait, but their WAL is not checkpointed meanwhile. `target` is
 * marked as closed. An error thrown by `watch` ends the copy.
 */
async function copyCommitted(file: string, target: string, watch: WatchWork): Promise<void> {
  const descriptor = openSync(target, 'r+');
  const database = openConnection(file);
  try {
    // An open read transaction pins the snapshot. Without it, SQLite restarts the copy from the
    // first page whenever another connection has written between two portions.
    database.exec('BEGIN');
    database.prepare('SELECT count(*) FROM sqlite_schema').get();
    const pageBytes = Number(database.prepare('PRAGMA page_size').get()?.['page_size']);
    let syncedBytes = 0;
    const progress = ({
      remainingPages,
      totalPages,
    }: {
      remainingPages: number;
      totalPages: number;
    }) => {
      const bytes = (totalPages - remainingPages) * pageBytes;
      if (bytes - syncedBytes >= SYNCED_BYTES) {
        fdatasyncSync(descriptor);
        syncedBytes = bytes;
      }
      watch('copied', bytes, totalPages * pageBytes);
    };
    await backup(database, target, { rate: PAGES, progress });
  } finally {
    closeBeside(database, file);
    closeSync(descriptor);
  }
  markFileClosed(target);
}

/** Copies a file without active writers over `target`, byte for byte. */
async function copyBytes(file: string, target: string, watch: WatchWork): Promise<void> {
  await using from = await open(file, 'r');
  await using to = await open(target, 'w', FILE_MODE);
  const { size } = await from.stat();
  let bytes = 0;
  const portion = Buffer.allocUnsafe(SYNCED_BYTES);
  for (;;) {
    const { bytesRead } = await from.read(portion, 0, portion.length, bytes);
    if (bytesRead === 0) break;
    await writeAll(to, portion.subarray(0, bytesRead));
    bytes += bytesRead;
    await to.datasync();
    watch('copied', bytes, size);
  }
  await to.sync();
}

async function writeAll(to: FileHandle, portion: Buffer): Promise<void> {
  for (let done = 0; done < portion.length; ) {
    done += (await to.write(portion, done)).bytesWritten;
  }
}

/**
 * Replaces `file`, which no process uses, with the whole and closed file `whole`. The rename is
 * atomic. With `kept`, the replaced file is kept under that name, together with its WAL.
 */
function placeFile(whole: string, file: string, kept: string | undefined): void {
  keepOwner(whole, file);
  sync(whole);
  takeInWal(file);
  if (kept !== undefined) linkSync(file, kept);
  // A WAL exists here only if SQLite cannot open the file. That WAL belongs to the replaced file
  // and must not stay next to the new file.
  if (existsSync(walOf(file))) {
    if (kept !== undefined) linkSync(walOf(file), walOf(kept));
    rmSync(walOf(file));
  }
  rmSync(`${file}-shm`, { force: true });
  syncFolderOf(file);
  renameSync(whole, file);
  syncFolderOf(file);
}

/** Makes SQLite checkpoint and remove the WAL after a crash. */
function takeInWal(file: string): void {
  if (!existsSync(walOf(file))) return;
  try {
    markFileClosed(file);
  } catch {
    // The file is damaged, so its WAL stays next to it.
  }
}

/** Removes the open mark and the WAL of a file that no process uses. */
function markFileClosed(file: string): void {
  const database = openConnection(file);
  try {
    markClosed(database);
  } finally {
    database.close();
  }
}

/** Removes a temporary copy, together with SQLite's additional files. */
function removeFile(file: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${file}${end}`, { force: true });
}

/** Bytes of rows checked between two calls of `watch`. */
const PORTION_BYTES = 8 * 1_024 * 1_024;

/**
 * Checks every page and the checksum of every row in a file without writers and without a WAL.
 * Rejects with `UnusableFile` at the first damage, and for a file that this program cannot serve.
 */
async function checkFile(file: string, watch: WatchWork): Promise<FileContents> {
  try {
    assertWhole(file);
    // Immutable mode, in which SQLite creates no additional files.
    const url = pathToFileURL(file);
    url.search = 'immutable=1';
    const database = new DatabaseSync(url, { readOnly: true });
    try {
      return await checked(database, file, watch);
    } finally {
      database.close();
    }
  } catch (error) {
    if (error instanceof CorruptState) throw damaged(file, error.message);
    throw unusable(file, error);
  }
}

async function checked(
  database: DatabaseSync,
  file: string,
  watch: WatchWork,
): Promise<FileContents> {
  const { size } = statSync(file);
  const version = versionOf(database, file);
  if (version === 0) throw new UnusableFile(`${file} has no tables`);
  assertKnown(version, file);
  assertOwnSchema(database, version, file);
  watch('checked', 0, size);
  const [found] = database.prepare('PRAGMA quick_check(1)').all();
  if (found?.['quick_check'] !== 'ok') throw damaged(file, String(found?.['quick_check']));
  await checkRows(database, file, watch, size);
  const count = (what: string) =>
    Number(database.prepare(`SELECT count(*) AS n FROM ${what}`).get()?.['n']);
  return {
    accounts: count('accounts WHERE state IS NOT NULL'),
    instances: count('heads WHERE expires_at_ms IS NULL'),
    journalGroups: count('journal'),
    bytes: size,
  };
}

/** Checks every row. Compares the row count and the checksum total of each table with `sums`. */
async function checkRows(
  database: DatabaseSync,
  file: string,
  watch: WatchWork,
  size: number,
): Promise<void> {
  let bytes = 0;
  let seenBytes = 0;
  for (const { name, table } of tablesIn(database)) {
    const select = database.prepare(table.select(''));
    select.setReturnArrays(true);
    let rows = 0;
    let total = 0;
    for (const row of select.iterate() as Iterable<unknown> as Iterable<Row>) {
      table.rowsOf([row]);
      rows += 1;
      total = (total + Number(row.at(-1))) % SUM_MODULUS;
      bytes += bytesOf(row);
      if (bytes - seenBytes < PORTION_BYTES) continue;
      seenBytes = bytes;
      watch('checked', Math.min(bytes, size), size);
      await yieldToEvents();
    }
    const kept = database.prepare(KEPT).get(name);
    if (kept?.['parts'] === 0 || (kept?.['n'] === rows && kept['total'] === total)) continue;
    throw damaged(file, `rows of ${name} are missing`);
  }
}

/** Row count and checksum total of a table in `sums`; `parts` is 0 for a table without totals. */
const KEPT = `SELECT count(*) AS parts, coalesce(sum(rows), 0) AS n,
  coalesce(sum(total), 0) % ${SUM_MODULUS} AS total FROM sums WHERE name = ?`;

/** Tables with a checksum per row. The key columns come first, the checksum last. */
function tablesIn(database: DatabaseSync) {
  const names = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  return names.flatMap(({ name }) => {
    const columns = database
      .prepare('SELECT name, pk FROM pragma_table_info(?) ORDER BY cid')
      .all(String(name))
      .map((column) => ({ name: String(column['name']), isKey: Number(column['pk']) > 0 }));
    if (columns.at(-1)?.name !== 'checksum') return [];
    const named = (isKey: boolean) =>
      columns.filter((column) => column.isKey === isKey).map((column) => column.name);
    const shape = { keys: named(true), others: named(false).slice(0, -1) };
    return { name: String(name), table: new CheckedTable({ name: String(name), ...shape }) };
  });
}

function damaged(file: string, text: string): UnusableFile {
  return new UnusableFile(`${file} is damaged: ${text.replaceAll('\n', ' ')}`);
}
