import { existsSync, rmSync, statfsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Fault } from '#fault/fault';
import { type Clock, every } from '#platform/clock';
import { FILE_MODE } from '#storage/sqlite/paths';

const MIB = 1_024 * 1_024;

/**
 * Bytes that the disk must have free, or instances are not changed: they are left to the meters, so that
 * reads are still counted, and to checkpoints, so that journals shrink. Chosen: four times the WAL.
 */
const FREE_BYTES_MIN = 64 * MIB;

/** Bytes of a file that is there only to be removed, for the same, when others have filled the disk. */
const RESERVE_BYTES = 32 * MIB;

/** How often the disk is looked at, in milliseconds: at 20 MB/s a third of what is left. Chosen. */
const LOOK_MS = 1_000;

/** What a caller waits before the next try, in seconds. */
const RETRY_AFTER_S = 5;

/** Whether the disk of a file has room for what callers send, and a reserve for what must go on without. */
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
    // Not at the start, which callers wait for.
    this.#watch = every(clock, LOOK_MS, () => {
      this.#look();
      this.#reserveAgain();
    });
  }

  /** Why nothing should be changed for now; undefined: there is room. */
  refusal(): Fault | undefined {
    if (!this.#isLow) return undefined;
    const options = { reason: 'overloaded', retryAfterS: RETRY_AFTER_S } as const;
    return new Fault('service_unavailable', 'the disk is nearly full', options);
  }

  /** A write has found no room: what is reserved is given up for the next. */
  release(): void {
    if (!hasReleased(this.#file)) return;
    this.#onNotice('the disk of the file is full: meters and checkpoints use what was reserved');
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
    // Where another program was faster, what there is of it is as good.
    reserve(this.#reserve).catch(() => undefined);
  }
}

/** Gives up what is reserved beside a file; whether there was anything. */
export function hasReleased(file: string): boolean {
  try {
    rmSync(reserveOf(file));
    return true;
  } catch {
    return false;
  }
}

/** The file beside another one that is there only to be removed. */
export function reserveOf(file: string): string {
  return `${file}-reserve`;
}

/** Makes the file that reserves room. Zeros are written: a hole would reserve nothing. */
async function reserve(path: string): Promise<void> {
  await using file = await open(path, 'wx', FILE_MODE);
  const zeros = Buffer.alloc(MIB);
  for (let written = 0; written < RESERVE_BYTES; written += MIB) await file.write(zeros);
  await file.sync();
}

/** Bytes that this user may still write beside a file; 0 where the disk does not say. */
function freeBytes(file: string): number {
  try {
    const { bavail, bsize } = statfsSync(dirname(file));
    return bavail * bsize;
  } catch {
    return 0;
  }
}
