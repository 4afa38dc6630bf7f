import { PROGRESS_PERIOD_MS, SLOW_MS, STALLED_MS } from '#cluster/failover-timing';
import type { ShardedService } from '#storage/ports/cluster';
import type { JournalHead } from '#storage/ports/journal';

type Progress = {
  readonly head: JournalHead;
  readonly readMs: number;
  /** Monotonic time since which `next` has not changed and this process was not slow itself. */
  stalledSinceMs: number;
};

/** Time between two calls of `look` above which this process was paused, in milliseconds. */
const GAP_MS_MAX = 1_000;

/**
 * Tracks from reads of journal heads which journals grow. A journal without growth is evidence
 * against its owner only while this process's own appends and reads are fast. Without this rule, a
 * stall of the store made healthy nodes seal each other (architecture 3.3). All times are monotonic
 * and are passed in by the caller.
 */
export class JournalProgress {
  readonly #progress = new Map<string, Progress>();
  readonly #stalledMs: number;
  readonly #periodMs: number;
  #lookedMs: number;

  constructor(service: ShardedService, nowMs: number) {
    this.#stalledMs = STALLED_MS[service];
    this.#periodMs = PROGRESS_PERIOD_MS[service];
    this.#lookedMs = nowMs;
  }

  /**
   * Restarts all stall timers if this process was slow or paused. Must be called several times a
   * second.
   */
  look(slowestAppendMs: number, nowMs: number): void {
    const wasHeldUp = nowMs - this.#lookedMs > GAP_MS_MAX;
    this.#lookedMs = nowMs;
    if (wasHeldUp || slowestAppendMs >= SLOW_MS) this.#startAgain(nowMs);
  }

  /** Head of a journal if it was read within the period, so that no new read is needed. */
  recentHead(incarnation: string, nowMs: number): JournalHead | undefined {
    const known = this.#progress.get(incarnation);
    return known !== undefined && nowMs - known.readMs < this.#periodMs ? known.head : undefined;
  }

  /** Records the answer of a read that began at `beganMs`. */
  read(incarnation: string, head: JournalHead, { beganMs, nowMs }: ReadTimes): void {
    if (nowMs - beganMs >= SLOW_MS) this.#startAgain(nowMs);
    const before = this.#progress.get(incarnation);
    const isSame = before !== undefined && before.head.next === head.next;
    const stalledSinceMs = isSame ? before.stalledSinceMs : nowMs;
    this.#progress.set(incarnation, { head, readMs: nowMs, stalledSinceMs });
  }

  /**
   * Records a failed read and restarts all stall timers, because a failed read proves nothing about
   * any journal.
   */
  unread(incarnation: string, nowMs: number): void {
    this.#progress.delete(incarnation);
    this.#startAgain(nowMs);
  }

  /** Whether the journal has not grown for `STALLED_MS` while this process was not slow. */
  isStalled(incarnation: string): boolean {
    const known = this.#progress.get(incarnation);
    return known !== undefined && known.readMs - known.stalledSinceMs >= this.#stalledMs;
  }

  /** Drops the state of a journal that is not watched any more. */
  forget(incarnation: string): void {
    this.#progress.delete(incarnation);
  }

  #startAgain(nowMs: number): void {
    for (const progress of this.#progress.values()) progress.stalledSinceMs = nowMs;
  }
}

/** Begin and end of a read (monotonic). */
export type ReadTimes = { readonly beganMs: number; readonly nowMs: number };
