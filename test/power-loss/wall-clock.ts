import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { compilePreload } from '#test/power-loss/preloaded-library';

/** The wall clock of processes, which a test steps while they run. */
export class WallClock {
  /** What a process on this clock has in its environment. */
  readonly variables: Record<string, string>;
  readonly #file: string;

  private constructor(library: string, file: string) {
    this.#file = file;
    this.variables = { LD_PRELOAD: library, WALL_CLOCK: file };
    writeFileSync(file, Buffer.alloc(8));
  }

  /** A clock that is the machine's until it is stepped; its files are in `folder`. */
  static async in(folder: string): Promise<WallClock> {
    return new WallClock(await compilePreload(folder, 'wall-clock'), join(folder, 'wall-clock'));
  }

  /** Puts it a number of milliseconds ahead of the machine's clock; below 0: behind it. */
  put(aheadMs: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(aheadMs) * 1_000_000n);
    const file = openSync(this.#file, 'r+');
    // One write of eight bytes: a process never sees half of a step.
    writeSync(file, bytes);
    closeSync(file);
  }
}
