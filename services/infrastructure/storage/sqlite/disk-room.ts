import { existsSync, rmSync, statfsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Fault } from '#errors/fault';
import { type Clock, every } from '#stdlib/clock';
import { FILE_MODE } from '#storage/sqlite/paths';

const MIB = 1_024 * 1_024;

/**
 * Minimum free space on the disk, in bytes: four times the WAL. With less, changes of instances are
 * refused. Meters and checkpoints may use the rest, so that reads are counted and journals shrink.
 */
const FREE_BYTES_MIN = 64 * MIB;

/**
 * Size of the reserve file, in bytes. The reserve is deleted for meters and checkpoints if other
 * programs have filled the disk.
 */
const RESERVE_BYTES = 32 * MIB;

/**
 * Interval between two checks of the disk, in milliseconds. At 20 MB/s, an interval uses a third of
 * `FREE_BYTES_MIN`.
 */
const LOOK_MS = 1_000;

/** Delay before the caller's retry, in seconds. */
const RETRY_AFTER_S = 5;

/**
 * Back-pressure for a nearly full disk: refuses changes, and reserves space for meters and
 * checkpoints.
 */
export class DiskRoom implements Disposable {
  readonly #file: string;
  readonly #reserve: string;
  readonly #onNotice: (notice: string) => void;
  readonly #watch: Disposable;
  #isLow = false;

  constructor(file: string, clock: Clock, onNotice: (notice: string) => void) {
    this.#file = file;
    this.#reserve = reserveOf(file);
    this.#onNotice = onNotice;
    this.#look();
    // The constructor does not write the reserve, because callers wait for the start.
    this.#watch = every(clock, LOOK_MS, () => {
      this.#look();
      this.#reserveAgain();
    });
  }

  /** Fault for changes while the disk is nearly full; undefined if there is enough space. */
  refusal(): Fault | undefined {
    if (!this.#isLow) return undefined;
    const options = { reason: 'overloaded', retryAfterS: RETRY_AFTER_S } as const;
    return new Fault('service_unavailable', 'the disk is nearly full', options);
  }

  /**
   * Deletes the reserve after a write has found the disk full, so that the next write has space.
   */
  release(): void {
    if (!hasReleased(this.#file)) return;
    this.#onNotice('the disk of the file is full: meters and checkpoints use the reserved space');
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
  }

  #look(): void {
    const isLow = freeBytes(this.#file) < FREE_BYTES_MIN;
    if (isLow === this.#isLow) return;
    this.#isLow = isLow;
    const what = isLow
      ? 'is nearly full: instances are read and not'
      : 'has room again: instances are';
    this.#onNotice(`the disk of the file ${what} changed`);
  }

  #reserveAgain(): void {
    if (existsSync(this.#reserve) || freeBytes(this.#file) < FREE_BYTES_MIN + RESERVE_BYTES) return;
    // If another process creates the reserve first, that reserve can be used too.
    reserve(this.#reserve).catch(() => undefined);
  }
}

/** Deletes the reserve of a file. Returns false if there was no reserve or the deletion failed. */
export function hasReleased(file: string): boolean {
  try {
    rmSync(reserveOf(file));
    return true;
  } catch {
    return false;
  }
}

/** Path of a file's reserve. The reserve exists only to be deleted when the disk is full. */
export function reserveOf(file: string): string {
  return `${file}-reserve`;
}

/** Creates the reserve. Writes zeros, because a sparse file reserves nothing. */
async function reserve(path: string): Promise<void> {
  await using file = await open(path, 'wx', FILE_MODE);
  const zeros = Buffer.alloc(MIB);
  for (let written = 0; written < RESERVE_BYTES; written += MIB) await file.write(zeros);
  await file.sync();
}

/** Bytes that this user may still write on the disk of a file; 0 if the disk cannot be queried. */
function freeBytes(file: string): number {
  try {
    const { bavail, bsize } = statfsSync(dirname(file));
    return bavail * bsize;
  } catch {
    return 0;
  }
}
