import { PROGRESS_PERIOD_MS, SLOW_MS, STALLED_MS } from '#cluster/bounds';
import type { JournalHead } from '#storage/ports/journal';

type Progress = {
  readonly head: JournalHead;
  readonly readMs: number;
  /** Since when `next` has not moved while this process itself was fast (monotonic). */
  stalledSinceMs: number;
};

/** Between two looks of a process that is not held up itself; beyond, it was. */
const GAP_MS_MAX = 1_000;

/**
 * Which journals grow, from the heads that were read of them. A journal that does not grow is
 * evidence against its owner only while this process's own appends and reads are fast; without this,
 * a stall of the store made healthy nodes seal each other (architecture 3.3). Every time is monotonic
 * and comes from the caller.
 */
export class JournalProgress {
  readonly #progress = new Map<string, Progress>();
  #lookedMs: number;

  constructor(nowMs: number) {
    this.#lookedMs = nowMs;
  }

  /** Several times a second: starts every count again when this process itself was slow. */
  look(slowestAppendMs: number, nowMs: number): void {
    const wasHeldUp = nowMs - this.#lookedMs > GAP_MS_MAX;
    this.#lookedMs = nowMs;
    if (wasHeldUp || slowestAppendMs >= SLOW_MS) this.#startAgain(nowMs);
  }

  /** The head of a journal if it was read within the last second: it need not be read again. */
  recentHead(incarnation: string, nowMs: number): JournalHead | undefined {
    const known = this.#progress.get(incarnation);
    return known !== undefined && nowMs - known.readMs < PROGRESS_PERIOD_MS
      ? known.head
      : undefined;
  }

  /** The store has answered a read that began at `beganMs`. */
  read(incarnation: string, head: JournalHead, { beganMs, nowMs }: ReadTimes): void {
    if (nowMs - beganMs >= SLOW_MS) this.#startAgain(nowMs);
    const before = this.#progress.get(incarnation);
    const isSame = before !== undefined && before.head.next === head.next;
    const stalledSinceMs = isSame ? before.stalledSinceMs : nowMs;
    this.#progress.set(incarnation, { head, readMs: nowMs, stalledSinceMs });
  }

  /** The store has given no answer: it proves nothing about any journal. */
  unread(incarnation: string, nowMs: number): void {
    this.#progress.delete(incarnation);
    this.#startAgain(nowMs);
  }

  /** Whether the journal has not grown for 5 s while this process itself was fast. */
  isStalled(incarnation: string): boolean {
    const known = this.#progress.get(incarnation);
    return known !== undefined && known.readMs - known.stalledSinceMs >= STALLED_MS;
  }

  /** Drops what is known of a journal that is watched no more. */
  forget(incarnation: string): void {
    this.#progress.delete(incarnation);
  }

  #startAgain(nowMs: number): void {
    for (const progress of this.#progress.values()) progress.stalledSinceMs = nowMs;
  }
}

/** When a read began and ended (monotonic). */
export type ReadTimes = { readonly beganMs: number; readonly nowMs: number };
