import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { compilePreload } from '#test/power-loss/disk/preloaded-library';

/* Separate from its only test, beside the C library that reads the file. */

/** Wall clock of running processes, which a test can step. */
export class WallClock {
  /** Environment variables for a process with this clock. */
  readonly variables: Record<string, string>;
  readonly #file: string;

  private constructor(library: string, file: string) {
    this.#file = file;
    this.variables = { LD_PRELOAD: library, WALL_CLOCK: file };
    writeFileSync(file, Buffer.alloc(8));
  }

  /** Creates a clock without offset. Its files are in `folder`. */
  static async in(folder: string): Promise<WallClock> {
    return new WallClock(await compilePreload(folder, 'wall-clock'), join(folder, 'wall-clock'));
  }

  /** Sets the offset to the machine's clock in milliseconds; may be negative. */
  put(aheadMs: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(aheadMs) * 1_000_000n);
    const file = openSync(this.#file, 'r+');
    // Readers see a write of eight bytes atomically.
    writeSync(file, bytes);
    closeSync(file);
  }
}
