import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { reserveOf } from '#storage/sqlite/disk-room';
import { OPEN_APPLICATION_ID } from '#storage/sqlite/file-schema';
import { UnusableFile } from '#storage/sqlite/unusable-file';
import { isWalDamaged } from '#storage/sqlite/wal-damage';

/** Where the header of a SQLite file says how large its pages are, and how many there are. */
const HEADER_BYTES = 100;
const PAGE_SIZE_AT = 16;
const PAGE_COUNT_AT = 28;
const APPLICATION_ID_AT = 68;
/** What stands there for pages of 65,536 bytes, which two bytes cannot say. */
const LARGEST_PAGE = 1;

/** How every file of SQLite begins. */
const BEGINNING = 'SQLite format 3\0';

/**
 * Throws `UnusableFile` for a file that is none of SQLite, or cut off, or marked as open without its WAL
 * unless `isWithoutWal`. While a file has a WAL, pages of it may stand there.
 */
export function assertWhole(file: string, isWithoutWal = false): void {
  const found = statSync(file);
  // Opening a pipe would wait for its writer without end.
  if (found.isFIFO()) throw new UnusableFile(`${file} is not a regular file`);
  const { size } = found;
  // A new one has no bytes; SQLite would take one of a few for new too, and write over it.
  if (size === 0) {
    assertNew(file);
    return;
  }
  const header = headerOf(file);
  if (!header.toString('latin1').startsWith(BEGINNING.slice(0, size))) {
    throw new UnusableFile(`${file} is no file of SQLite`);
  }
  if (size < HEADER_BYTES) throw new UnusableFile(`${file} is cut off: ${size} bytes are there`);
  if (bytesOf(walOf(file)) > 0) return;
  if (!isWithoutWal && header.readUInt32BE(APPLICATION_ID_AT) === OPEN_APPLICATION_ID) {
    throw new UnusableFile(
      `${file} was copied or moved while it was open, and ${walOf(file)} is not beside it: what was committed last is missing; copy both, or use ctl backup (docs/runbook.md#a-file-without-its-wal)`,
    );
  }
  const said = header.readUInt16BE(PAGE_SIZE_AT);
  const pageBytes = said === LARGEST_PAGE ? 65_536 : said;
  const bytes = pageBytes * header.readUInt32BE(PAGE_COUNT_AT);
  if (size >= bytes) return;
  throw new UnusableFile(`${file} is cut off: ${size} of ${bytes} bytes are there`);
}

/** Throws `UnusableFile` for an empty file beside which lies what only one with tables gets. */
function assertNew(file: string): void {
  const left = [walOf(file), reserveOf(file)].find((path) => bytesOf(path) > 0);
  if (left === undefined) return;
  throw new UnusableFile(
    `${file} is empty, and was not before, as ${left} shows: restore a backup, or remove the files beside it to begin with nothing`,
  );
}

/** Where SQLite keeps what is committed to a file and not copied back into it. */
export function walOf(file: string): string {
  return `${file}-wal`;
}

/** 0 where there is none. */
function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function headerOf(file: string): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  const descriptor = openSync(file, 'r');
  readSync(descriptor, header, 0, HEADER_BYTES, 0);
  closeSync(descriptor);
  return header;
}

/** Throws `UnusableFile` for a file whose WAL has lost commits: SQLite would go on without them. */
export function assertWalWhole(file: string): void {
  const wal = walOf(file);
  if (!existsSync(wal) || !isWalDamaged(readFileSync(wal))) return;
  throw new UnusableFile(`${wal} is damaged: what was committed in it cannot be read any more`);
}
