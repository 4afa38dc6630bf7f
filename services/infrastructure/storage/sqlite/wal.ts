import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { endianness } from 'node:os';
import { reserveOf } from '#storage/sqlite/disk-room';
import { UnusableFile } from '#storage/sqlite/failures';
import { OPEN_APPLICATION_ID } from '#storage/sqlite/schema';

/*
 * SQLite reads the frames of a WAL up to the first wrong checksum and silently ignores the rest.
 * After a crash this is correct, because the rest was never on disk. If a byte has changed on disk,
 * the rest contains answered commits. https://www.sqlite.org/fileformat2.html#walformat
 */

const WAL_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** Offsets in the WAL header: page size, salts, checksum. */
const PAGE_BYTES_AT = 8;
const SALTS_AT = 16;
const HEADER_SUM_AT = 24;
/** Offsets in a frame header: page count of the file after a commit (else 0), salts, checksum. */
const COMMIT_AT = 4;
const FRAME_SALTS_AT = 8;
const FRAME_SUM_AT = 16;
const SALTS_BYTES = 8;
const PAGE_BYTES_MIN = 512;
const WORD_BYTES = 4;

/** The two halves of SQLite's running checksum. */
type Sum = readonly [number, number];

/**
 * Whether commits in a WAL can no longer be read because of damage. `wal` is the content of the
 * whole file. A frame that continues the checksum of a commit was written after that commit was
 * durable. If reading from the beginning does not reach the commit, bytes before the commit have
 * changed. Damage in the last commit looks like a crash and is not detected.
 */
export function isWalDamaged(wal: Uint8Array): boolean {
  const bytes = Buffer.from(wal.buffer, wal.byteOffset, wal.byteLength);
  if (bytes.length < WAL_HEADER_BYTES + FRAME_HEADER_BYTES) return false;
  const frames = new Frames(bytes);
  for (let frame = frames.reached(); frame + 1 < frames.count; frame += 1) {
    if (frames.isCommit(frame) && frames.isContinued(frame)) return true;
  }
  return false;
}

class Frames {
  readonly #bytes: Buffer;
  readonly #pageBytes: number;
  /** The same bytes as words, in the byte order of the checksums. */
  readonly #words: Uint32Array;
  readonly #isHeaderWhole: boolean;
  /**
   * Salts of this WAL. Frames with other salts are left from an earlier WAL that was overwritten.
   */
  readonly #salts: Buffer;
  readonly count: number;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#pageBytes = Math.max(PAGE_BYTES_MIN, bytes.readUInt32BE(PAGE_BYTES_AT));
    this.#words = wordsOf(bytes);
    this.count = Math.floor((bytes.length - WAL_HEADER_BYTES) / this.#frameBytes);
    this.#isHeaderWhole = isSame(this.#headerSum, sumAt(bytes, HEADER_SUM_AT));
    // The header is durable before any frame is written.
    this.#salts = this.#isHeaderWhole
      ? bytes.subarray(SALTS_AT, SALTS_AT + SALTS_BYTES)
      : this.#saltsOf(0);
  }

  /** Number of frames that SQLite reads. */
  reached(): number {
    let sum = this.#headerSum;
    if (!this.#isHeaderWhole) return 0;
    for (let frame = 0; frame < this.count; frame += 1) {
      sum = this.#sumAfter(frame, sum);
      if (!this.#isOwn(frame) || !isSame(sum, this.#sumOf(frame))) return frame;
    }
    return this.count;
  }

  /** Whether a frame is the last frame of a transaction. */
  isCommit(frame: number): boolean {
    return this.#bytes.readUInt32BE(this.#at(frame) + COMMIT_AT) !== 0;
  }

  /** Whether the next frame continues the checksum of this frame. */
  isContinued(frame: number): boolean {
    if (!this.#isOwn(frame) || !this.#isOwn(frame + 1)) return false;
    return isSame(this.#sumAfter(frame + 1, this.#sumOf(frame)), this.#sumOf(frame + 1));
  }

  get #frameBytes(): number {
    return FRAME_HEADER_BYTES + this.#pageBytes;
  }

  get #headerSum(): Sum {
    return this.#sum([0, 0], 0, HEADER_SUM_AT);
  }

  /** Checksum stored in a frame. Covers the frame and all frames before it. */
  #sumOf(frame: number): Sum {
    return sumAt(this.#bytes, this.#at(frame) + FRAME_SUM_AT);
  }

  #isOwn(frame: number): boolean {
    return this.#saltsOf(frame).equals(this.#salts);
  }

  #at(frame: number): number {
    return WAL_HEADER_BYTES + frame * this.#frameBytes;
  }

  #saltsOf(frame: number): Buffer {
    const at = this.#at(frame) + FRAME_SALTS_AT;
    return this.#bytes.subarray(at, at + SALTS_BYTES);
  }

  #sumAfter(frame: number, before: Sum): Sum {
    const at = this.#at(frame);
    const head = this.#sum(before, at, FRAME_SALTS_AT);
    return this.#sum(head, at + FRAME_HEADER_BYTES, this.#pageBytes);
  }

  #sum([first, second]: Sum, at: number, bytes: number): Sum {
    let [one, two] = [first, second];
    const words = this.#words;
    const end = (at + bytes) / WORD_BYTES;
    for (let word = at / WORD_BYTES; word < end; word += 2) {
      one = (one + (words[word] ?? 0) + two) | 0;
      two = (two + (words[word + 1] ?? 0) + one) | 0;
    }
    return [one >>> 0, two >>> 0];
  }
}

/** Words of four bytes. The lowest bit of the magic number selects the byte order. */
function wordsOf(bytes: Buffer): Uint32Array {
  const isBigEndian = (bytes.readUInt8(3) & 1) === 1;
  const copy = Buffer.from(bytes.subarray(0, bytes.length - (bytes.length % WORD_BYTES)));
  if (isBigEndian === (endianness() === 'LE')) copy.swap32();
  return new Uint32Array(copy.buffer, copy.byteOffset, copy.length / WORD_BYTES);
}

function sumAt(bytes: Buffer, at: number): Sum {
  return [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)];
}

function isSame(one: Sum, other: Sum): boolean {
  return one[0] === other[0] && one[1] === other[1];
}

/** Offsets in the header of an SQLite file: page size, page count, application id. */
const FILE_HEADER_BYTES = 100;
const PAGE_SIZE_AT = 16;
const PAGE_COUNT_AT = 28;
const APPLICATION_ID_AT = 68;
/** Stored value for a page size of 65,536 bytes, which does not fit into two bytes. */
const LARGEST_PAGE = 1;

/** First bytes of every SQLite file. */
const BEGINNING = 'SQLite format 3\0';

/**
 * Throws `UnusableFile` for a file that is not an SQLite file, that is truncated, or that is marked
 * as open but has no WAL (allowed with `isWithoutWal`). If there is a WAL, the size of the file is
 * not checked, because pages may be in the WAL.
 */
export function assertWhole(file: string, isWithoutWal = false): void {
  const found = statSync(file);
  // Opening a pipe would block until a writer opens it.
  if (found.isFIFO()) throw new UnusableFile(`${file} is not a regular file`);
  const { size } = found;
  // A new file is empty. SQLite would also take a file of a few bytes for new, and overwrite it.
  if (size === 0) {
    assertNew(file);
    return;
  }
  const header = headerOf(file);
  if (!header.toString('latin1').startsWith(BEGINNING.slice(0, size))) {
    throw new UnusableFile(`${file} is not an SQLite file`);
  }
  if (size < FILE_HEADER_BYTES) throw new UnusableFile(`${file} is truncated to ${size} bytes`);
  if (bytesOf(walOf(file)) > 0) return;
  if (!isWithoutWal && header.readUInt32BE(APPLICATION_ID_AT) === OPEN_APPLICATION_ID) {
    throw new UnusableFile(
      `${file} was copied or moved while it was open, but without ${walOf(file)}, which holds the last commits: copy both files, or use ctl backup (docs/runbook.md#a-file-without-its-wal)`,
    );
  }
  const said = header.readUInt16BE(PAGE_SIZE_AT);
  const pageBytes = said === LARGEST_PAGE ? 65_536 : said;
  const bytes = pageBytes * header.readUInt32BE(PAGE_COUNT_AT);
  if (size >= bytes) return;
  throw new UnusableFile(`${file} is truncated: ${size} of ${bytes} bytes exist`);
}

/**
 * Throws `UnusableFile` for an empty file that has a WAL or a reserve. Such a file had tables
 * before.
 */
function assertNew(file: string): void {
  const left = [walOf(file), reserveOf(file)].find((path) => bytesOf(path) > 0);
  if (left === undefined) return;
  throw new UnusableFile(
    `${file} is empty but had content before, because ${left} exists: restore a backup, or remove the -wal and -reserve files to start without data`,
  );
}

/** Path of the WAL, which holds commits that are not yet checkpointed into the file. */
export function walOf(file: string): string {
  return `${file}-wal`;
}

/** Size of a file in bytes; 0 if missing. */
function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function headerOf(file: string): Buffer {
  const header = Buffer.alloc(FILE_HEADER_BYTES);
  const descriptor = openSync(file, 'r');
  readSync(descriptor, header, 0, FILE_HEADER_BYTES, 0);
  closeSync(descriptor);
  return header;
}

/** Throws `UnusableFile` if the WAL has lost commits, which SQLite would silently ignore. */
export function assertWalWhole(file: string): void {
  const wal = walOf(file);
  if (!existsSync(wal) || !isWalDamaged(readFileSync(wal))) return;
  throw new UnusableFile(`${wal} is damaged: its commits can no longer be read`);
}
