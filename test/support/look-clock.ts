import { setImmediate as nextTurn } from 'node:timers/promises';
import { ManualClock } from '#test/support/manual-clock';

/**
 * Polling interval for watched files, in milliseconds. Source:
 * services/infrastructure/stdlib/files.ts.
 */
const LOOK_PERIOD_MS = 2_000;

/** A manual clock for watched files. */
export class LookClock extends ManualClock {
  #planned = 0;

  override after(delayMs: number, task: () => void): Disposable {
    this.#planned += 1;
    return super.after(delayMs, task);
  }

  /** Runs the next poll of a watch. Resolves when the poll has read the files. */
  async look(): Promise<void> {
    const before = this.#planned;
    this.advance(LOOK_PERIOD_MS);
    while (this.#planned === before) await nextTurn();
  }

  /** Runs two polls. A watch uses changed files after two polls with the same contents. */
  async looks(): Promise<void> {
    await this.look();
    await this.look();
  }
}
