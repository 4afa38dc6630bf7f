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
import type { Clock } from '#platform/clock';
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
} from '#storage/sqlite/owner';
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

/** The whole of an SQLite file. */
export function sqliteDataFile(path: string, clock: Pick<Clock, 'wallMs'>): DataFile {
  return {
    path,
    backup: (target, watch) => saidOf(path, () => backUp(path, target, watch)),
    openBackup: (backup, watch, isWithoutWal = false) =>
      saidOf(backup, () => openBackup({ file: path, backup, isWithoutWal }, clock, watch)),
    vacuum: (watch) => saidOf(path, () => vacuum(path, clock, watch)),
  };
}

async function backUp(file: string, target: string, watch: WatchWork): Promise<FileContents> {
  assertOwn(file);
  await copyCommitted(file, target, watch);
  return await checkFile(target, watch);
}

/** Throws `UnusableFile` unless it is a file of this program. */
function assertOwn(file: string): void {
  if (!existsSync(file)) throw new UnusableFile(`${file} is not there`);
  assertNotReplaced(file);
  assertWhole(file);
  const version = versionOfFile(file);
  if (version === 0) throw new UnusableFile(`${file} has no tables`);
  assertKnown(version, file);
}

/** Which backup is restored to which file, and whether the backup may lack its WAL. */
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
  if (!existsSync(backup)) throw new UnusableFile(`${backup} is not there`);
  const replaces = existsSync(file);
  if (replaces && realpathSync(backup) === realpathSync(file)) {
    throw new UnusableFile(`${backup} is the file itself`);
  }
  assertWhole(backup, isWithoutWal);
  makeFolderOf(file);
  await using opening = new AsyncDisposableStack();
  opening.use(holdFile(file, clock));
  // A file that was served is a backup too once nothing serves it.
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
    // Exclusive: what another one put there would have its owner and its mode.
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

/** What the work answers; what the system or SQLite refuses with is one line about the file. */
async function saidOf<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw unusable(file, error);
  }
}

/** Pages that are copied between two looks at whether the work is to go on: 2 MiB. Chosen. */
const PAGES = 512;

/**
 * Bytes after which a copy is made to reach the disk: what is left for one `fsync` at the end would hold up
 * the commits of a service beside it. Chosen.
 */
const SYNCED_BYTES = 8 * 1_024 * 1_024;

/**
 * Copies what is committed in a file at one moment into `target`, while others write to it. They wait for
 * nothing; only their WAL is not copied back meanwhile. `target` is not marked as open. What `watch`
 * throws ends it.
 */
async function copyCommitted(file: string, target: string, watch: WatchWork): Promise<void> {
  const descriptor = openSync(target, 'r+');
  const database = openConnection(file);
  try {
    // An open transaction keeps its moment: without one SQLite begins from the first page again whenever
    // another connection has written between two portions.
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

/** Copies a file that nothing writes, byte for byte, in the place of what `target` was. */
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
 * Puts a whole and closed file in the place of another one, which nothing uses: at any instant there is the
 * one or the other. With `kept` the other one stays under that name, with its WAL.
 */
function placeFile(whole: string, file: string, kept: string | undefined): void {
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
function takeInWal(file: string): void {
  if (!existsSync(walOf(file))) return;
  try {
    markFileClosed(file);
  } catch {
    // It is damaged: then the WAL stays beside it.
  }
}

/** Takes the mark of an open file away from a file that nothing uses, and removes its WAL. */
function markFileClosed(file: string): void {
  const database = openConnection(file);
  try {
    markClosed(database);
  } finally {
    database.close();
  }
}

/** Removes a file that was not put in its place, with what SQLite has beside it. */
function removeFile(file: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${file}${end}`, { force: true });
}

/** Bytes of rows between two looks at whether the work is to go on. */
const PORTION_BYTES = 8 * 1_024 * 1_024;

/**
 * Reads a file that nothing writes, and that has no WAL: each page, and each row against its checksum.
 * Rejects with `UnusableFile` for the first that is not as written, and for a file that this program
 * could not serve.
 */
async function checkFile(file: string, watch: WatchWork): Promise<FileContents> {
  try {
    assertWhole(file);
    // Immutable: SQLite leaves no files beside it.
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

/** Reads every row, and compares how many there are, and the sum of their checksums, with what is kept of it. */
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

/** What is kept of a table's rows; of some tables nothing is. */
const KEPT = `SELECT count(*) AS parts, coalesce(sum(rows), 0) AS n,
  coalesce(sum(total), 0) % ${SUM_MODULUS} AS total FROM sums WHERE name = ?`;

/** Every table whose rows have a checksum: its key is first and the checksum last. */
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
