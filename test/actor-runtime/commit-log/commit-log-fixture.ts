import * as assert from 'uvu/assert';
import { APPENDS_IN_FLIGHT_MAX } from '#actor-runtime/actor-bounds';
import { CommitLog } from '#actor-runtime/commit-log';
import { decodeRecord } from '#actor-runtime/record-codec';
import type { Fault } from '#errors/fault';
import type { Journal, JournalRecord } from '#storage/ports/journal';
import { lineOf } from '#test/actor-runtime/commit-log/journal-records';
import { ManualClock } from '#test/support/manual-clock';
import { turnOfEvents } from '#test/support/settled';

/** A journal whose appends end when the test decides, in order. */
export class HeldJournal implements Journal {
  readonly isLasting = true;
  readonly isOnlyWriter: boolean = false;
  readonly groups: { readonly records: readonly JournalRecord[]; readonly lowWaterMark: number }[] =
    [];
  readonly #pending: PromiseWithResolvers<void>[] = [];

  append(lines: readonly string[], lowWaterMark: number): Promise<void> {
    this.groups.push({ records: lines.map(decodeRecord), lowWaterMark });
    const pending = Promise.withResolvers<void>();
    this.#pending.push(pending);
    assert.ok(this.#pending.length <= APPENDS_IN_FLIGHT_MAX, 'more appends than may be in flight');
    return pending.promise;
  }

  /** Makes the oldest append durable. */
  async succeed(): Promise<void> {
    this.#pending.shift()?.resolve();
    await turnOfEvents();
  }

  /** Makes every append in flight durable. */
  async succeedAll(): Promise<void> {
    for (const pending of this.#pending.splice(0)) pending.resolve();
    await turnOfEvents();
  }

  async fail(): Promise<void> {
    this.#pending.shift()?.reject(new Error('fenced'));
    await turnOfEvents();
  }

  get sizes(): number[] {
    return this.groups.map(({ records }) => records.length);
  }
}

/** A journal that no other node can take over, and that may refuse further appends. */
export class OnlyJournal extends HeldJournal {
  override readonly isOnlyWriter: boolean = true;
  refused: Fault | undefined;
  readonly refusal = () => this.refused;
}

/** A commit log on a `HeldJournal`. */
export function newScene() {
  const clock = new ManualClock();
  // The test starts at 50 s, because ages and times would be equal at 0.
  clock.advance(50_000);
  const journal = new HeldJournal();
  const log = new CommitLog(journal, clock);
  /** Adds one record for each version. One caller waits for all of them. */
  const addVersions = (...versions: readonly number[]): void => {
    for (const version of versions) log.add(lineOf({ version }));
    log.whenDurable(log.added).catch(() => undefined);
  };
  /**
   * Adds `count` records with a waiting caller, and ends the turn of the event loop. Returns the
   * offset of the last record.
   */
  const add = async (count: number, event: unknown = 1): Promise<number> => {
    for (let i = 0; i < count; i += 1) log.add(lineOf({ event }));
    const offset = log.added;
    log.whenDurable(offset).catch(() => undefined);
    await turnOfEvents();
    return offset;
  };
  return { clock, journal, log, add, addVersions };
}
