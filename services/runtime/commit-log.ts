import { Fault } from '#fault/fault';
import type { Journal, JournalRecord } from '#storage/journal';

type Waiter = {
  readonly position: number;
  readonly resolve: () => void;
  readonly reject: (e: unknown) => void;
};

/**
 * Group commit: while one append is in flight further records gather, then they go together, so
 * that the journal's price is paid once per group (architecture 3.1). Positions count the records
 * of this process from 1; `durable` is the last that the journal holds.
 */
export class CommitLog {
  readonly #journal: Journal;
  #open: JournalRecord[] = [];
  #added = 0;
  #durable = 0;
  #isAppending = false;
  #failure: unknown;
  #waiters: Waiter[] = [];

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Throws `service_unavailable` once the journal has ended: then nothing can be committed. */
  assertOpen(): void {
    if (this.#failure !== undefined) throw ended(this.#failure, false);
  }

  /** Adds a record to the open group and returns its position. */
  add(record: JournalRecord): number {
    this.#open.push(record);
    this.#added += 1;
    const position = this.#added;
    if (!this.#isAppending) this.#append();
    return position;
  }

  /** Whether everything up to `position` is durable. */
  isDurable(position: number): boolean {
    return position <= this.#durable;
  }

  /**
   * Fulfils when `position` is durable. Rejects with `service_unavailable` of unknown outcome if the
   * journal ended before: the append may have got through all the same.
   */
  async whenDurable(position: number): Promise<void> {
    if (this.isDurable(position)) return;
    if (this.#failure !== undefined) throw ended(this.#failure, true);
    await new Promise<void>((resolve, reject) => this.#waiters.push({ position, resolve, reject }));
  }

  #append(): void {
    const group = this.#open;
    this.#open = [];
    const appended = this.#journal.append(group);
    if (appended === undefined) {
      this.#durable += group.length;
      return;
    }
    this.#isAppending = true;
    appended.then(
      () => this.#settle(group.length),
      (failure: unknown) => this.#fail(failure),
    );
  }

  #settle(recordCount: number): void {
    this.#isAppending = false;
    this.#durable += recordCount;
    const waiting = this.#waiters;
    this.#waiters = waiting.filter((waiter) => waiter.position > this.#durable);
    for (const waiter of waiting) if (waiter.position <= this.#durable) waiter.resolve();
    if (this.#open.length > 0) this.#append();
  }

  #fail(failure: unknown): void {
    this.#failure = failure;
    for (const waiter of this.#waiters.splice(0)) waiter.reject(ended(failure, true));
  }
}

/** The refusal after the journal's end. What was in an append may be durable; what comes later is not. */
function ended(cause: unknown, isOutcomeUnknown: boolean): Fault {
  const options = {
    reason: 'engine_unavailable',
    retryAfterS: 1,
    isOutcomeUnknown,
    cause,
  } as const;
  return new Fault('service_unavailable', 'this node has stopped committing', options);
}
