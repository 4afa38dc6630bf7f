import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { Fault } from '#fault/fault';
import { type Clock, every } from '#platform/clock';

const MIB = 1_024 * 1_024;

/**
 * Bytes that the disk must have free, or instances are not changed: they are left to the meters, so that
 * reads are still counted, and to checkpoints, so that journals shrink. Chosen: four times the WAL.
 */
const RESERVED_BYTES = 64 * MIB;

/** How often that is looked at, in milliseconds: at 20 MB/s a third of what is reserved. Chosen. */
const LOOK_MS = 1_000;

/** What a caller waits before the next try, in seconds. */
const RETRY_AFTER_S = 5;

/** Whether the disk of a file has room for what callers send. */
export class DiskRoom implements Disposable {
  readonly #file: string;
  readonly #onNotice: (notice: string) => void;
  readonly #watch: Disposable;
  #isLow = false;

  constructor(file: string, clock: Clock, onNotice: (notice: string) => void) {
    this.#file = file;
    this.#onNotice = onNotice;
    this.#look();
    this.#watch = every(clock, LOOK_MS, () => this.#look());
  }

  /** Why nothing should be changed for now; undefined: there is room. */
  refusal(): Fault | undefined {
    if (!this.#isLow) return undefined;
    const options = { reason: 'engine_unavailable', retryAfterS: RETRY_AFTER_S } as const;
    return new Fault('service_unavailable', 'the disk is nearly full', options);
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
  }

  #look(): void {
    const isLow = freeBytes(dirname(this.#file)) < RESERVED_BYTES;
    if (isLow === this.#isLow) return;
    this.#isLow = isLow;
    const free = `less than ${RESERVED_BYTES / MIB} MiB free: instances are read and not changed`;
    const what = isLow ? free : 'room again: instances are changed';
    this.#onNotice(`the disk of ${this.#file} has ${what}`);
  }
}

/** Bytes that this user may still write; 0 where the disk does not say. */
function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return 0;
  }
}
