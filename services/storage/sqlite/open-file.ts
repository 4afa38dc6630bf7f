import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { openConnection } from '#storage/sqlite/connection';
import { ownerFileOf, takeFile } from '#storage/sqlite/file-owner';
import { knownFileVersions, migrateFile, versionOf } from '#storage/sqlite/file-schema';
import { SqliteFile, type SqliteFileOptions } from '#storage/sqlite/sqlite-file';
import { UnusableFile } from '#storage/sqlite/unusable-file';
import { isWalDamaged } from '#storage/sqlite/wal-damage';

/** Only the user of the service enters the folder and reads the file. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** Where the header of a SQLite file says how large its pages are, and how many there are. */
const HEADER_BYTES = 100;
const PAGE_SIZE_AT = 16;
const PAGE_COUNT_AT = 28;
/** What stands there for pages of 65,536 bytes, which two bytes cannot say. */
const LARGEST_PAGE = 1;

/**
 * Opens a file for the process that serves it, and holds it until it is disposed: nothing else serves
 * it meanwhile. Makes it and its folder where they are not there, for this user alone, and brings its
 * tables up to date. Throws `UnusableFile`.
 */
export function openServedFile(options: SqliteFileOptions): SqliteFile {
  const { file, clock } = options;
  return usable(file, () => {
    mkdirSync(dirname(file), { recursive: true, mode: FOLDER_MODE });
    // SQLite gives the files beside a file its mode, but not this one.
    for (const path of [file, ownerFileOf(file)]) closeSync(openSync(path, 'a', FILE_MODE));
    using taking = new DisposableStack();
    taking.use(takeFile(file, { pid: process.pid, startedAtMs: clock.wallMs() }));
    assertWhole(file);
    assertWalWhole(`${file}-wal`);
    prepare(file, (database) => migrateFile(database, file));
    const taken = taking.move();
    return new SqliteFile(options, () => taken.dispose());
  });
}

/**
 * Opens a file for a tool, beside the process that may serve it. Throws `UnusableFile`, also when it is
 * not there or has tables of another version.
 */
export function openFileOfTool(options: SqliteFileOptions): SqliteFile {
  const { file } = options;
  return usable(file, () => {
    if (!existsSync(file)) throw new UnusableFile(`${file} is not there`);
    assertWhole(file);
    prepare(file, (database) => {
      const version = versionOf(database, file);
      const known = knownFileVersions().length;
      if (version === known) return;
      throw new UnusableFile(
        `${file} has tables of version ${version}, and this program reads version ${known}`,
      );
    });
    return new SqliteFile(options);
  });
}

/** Uses a connection of its own, before there are threads. */
function prepare(file: string, use: (database: DatabaseSync) => void): void {
  const database = openConnection(file);
  try {
    use(database);
  } finally {
    database.close();
  }
}

/** Throws `UnusableFile` for a file that is cut off; while it has a WAL, pages of it may stand there. */
function assertWhole(file: string): void {
  const { size } = statSync(file);
  // A new one. SQLite would take one of a few bytes for that too, and write over it.
  if (size === 0) return;
  if (size < HEADER_BYTES) throw new UnusableFile(`${file} is cut off: ${size} bytes are there`);
  const wal = statSync(`${file}-wal`, { throwIfNoEntry: false });
  if (wal !== undefined && wal.size > 0) return;
  const header = Buffer.alloc(HEADER_BYTES);
  const descriptor = openSync(file, 'r');
  readSync(descriptor, header, 0, HEADER_BYTES, 0);
  closeSync(descriptor);
  const said = header.readUInt16BE(PAGE_SIZE_AT);
  const pageBytes = said === LARGEST_PAGE ? 65_536 : said;
  const bytes = pageBytes * header.readUInt32BE(PAGE_COUNT_AT);
  if (size >= bytes) return;
  throw new UnusableFile(`${file} is cut off: ${size} of ${bytes} bytes are there`);
}

/** Throws `UnusableFile` for a WAL that has lost commits: SQLite would go on without them. */
function assertWalWhole(wal: string): void {
  if (!existsSync(wal) || !isWalDamaged(readFileSync(wal))) return;
  throw new UnusableFile(`${wal} is damaged: what was committed in it cannot be read any more`);
}

/** What `open` answers. What the system or SQLite refuses with becomes one line. */
function usable(file: string, open: () => SqliteFile): SqliteFile {
  try {
    return open();
  } catch (error) {
    if (error instanceof UnusableFile || !(error instanceof Error) || !('code' in error))
      throw error;
    throw new UnusableFile(`${file} cannot be used: ${error.message}`, { cause: error });
  }
}
