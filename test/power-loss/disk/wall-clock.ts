import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { compilePreload } from '#test/power-loss/disk/preloaded-library';

/** Wall clock of processes that a test steps while they run. */
export class WallClock {
  /** Environment variables of a process with this clock. */
  readonly variables: Record<string, string>;
  readonly #file: string;

  private constructor(library: string, file: string) {
    this.#file = file;
    this.variables = { LD_PRELOAD: library, WALL_CLOCK: file };
    writeFileSync(file, Buffer.alloc(8));
  }

  /** A clock equal to the machine's until stepped; its files are in `folder`. */
  static async in(folder: string): Promise<WallClock> {
    return new WallClock(await compilePreload(folder, 'wall-clock'), join(folder, 'wall-clock'));
  }

  /** Sets the lead over the machine's clock in milliseconds; may be negative. */
  put(aheadMs: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(aheadMs) * 1_000_000n);
    const file = openSync(this.#file, 'r+');
    // A single write of eight bytes is atomic for readers.
    writeSync(file, bytes);
    closeSync(file);
  }
}
