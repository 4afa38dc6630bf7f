import { setImmediate as nextTurn } from 'node:timers/promises';
import { ManualClock } from '#test/support/manual-clock';

/** Between two looks at watched files, in milliseconds. Source: services/infrastructure/stdlib/files.ts. */
const LOOK_PERIOD_MS = 2_000;

/** A manual clock by which files are watched. */
export class LookClock extends ManualClock {
  #planned = 0;

  override after(delayMs: number, task: () => void): Disposable {
    this.#planned += 1;
    return super.after(delayMs, task);
  }

  /** The next look at the files of one watch, until it has read them and planned the one after. */
  async look(): Promise<void> {
    const before = this.#planned;
    this.advance(LOOK_PERIOD_MS);
    while (this.#planned === before) await nextTurn();
  }

  /** As many looks as a change needs to count. */
  async looks(): Promise<void> {
    await this.look();
    await this.look();
  }
}
