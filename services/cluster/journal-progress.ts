import { PROGRESS_PERIOD_MS, SLOW_MS, STALLED_MS } from '#cluster/bounds';
import type { Clock } from '#platform/clock';
import type { JournalHead, JournalStore } from '#storage/journal-store';

type Progress = {
  head: JournalHead;
  readMs: number;
  /** Since when `next` has stood still while everything of ours went fast (monotonic). */
  stillSinceMs: number;
};

/** What watching progress takes. */
export type JournalProgressPorts = {
  readonly clock: Clock;
  readonly journals: JournalStore;
  readonly takeSlowestAppendMs: () => number;
};

/** Between two looks of a process that is not held up itself; beyond, it was. */
const GAP_MS_MAX = 1_000;

/**
 * Watches whether others' journals grow. A journal that stands still says something of its owner
 * only while our own appends and reads are fast; without this, a stall of the store made healthy
 * nodes seal each other (architecture 3.3).
 */
export class JournalProgress {
  readonly #ports: JournalProgressPorts;
  readonly #progress = new Map<string, Progress>();
  #lookedMs: number;

  constructor(ports: JournalProgressPorts) {
    this.#ports = ports;
    this.#lookedMs = ports.clock.monotonicMs();
  }

  /** Several times a second: starts every count again when this process itself was slow. */
  look(): void {
    const nowMs = this.#ports.clock.monotonicMs();
    const wasHeldUp = nowMs - this.#lookedMs > GAP_MS_MAX;
    this.#lookedMs = nowMs;
    if (wasHeldUp || this.#ports.takeSlowestAppendMs() >= SLOW_MS) this.#startAgain();
  }

  /**
   * The head of a journal, read at most once a second; `missing` if there is no such journal,
   * `unknown` when the store gives no answer.
   */
  async read(incarnation: string): Promise<JournalHead | 'missing' | 'unknown'> {
    const { clock, journals } = this.#ports;
    const startedMs = clock.monotonicMs();
    const known = this.#progress.get(incarnation);
    if (known !== undefined && startedMs - known.readMs < PROGRESS_PERIOD_MS) return known.head;
    let head: JournalHead | undefined;
    try {
      head = await journals.readHead(incarnation, 'quorum');
    } catch {
      this.#progress.delete(incarnation);
      this.#startAgain();
      return 'unknown';
    }
    if (head === undefined) return 'missing';
    const nowMs = clock.monotonicMs();
    if (nowMs - startedMs >= SLOW_MS) this.#startAgain();
    const before = this.#progress.get(incarnation);
    const isStill = before !== undefined && before.head.next === head.next;
    const stillSinceMs = isStill ? before.stillSinceMs : nowMs;
    this.#progress.set(incarnation, { head, readMs: nowMs, stillSinceMs });
    return head;
  }

  /** Whether the journal has stood still for 5 s while everything of ours was fast. */
  isStill(incarnation: string): boolean {
    const known = this.#progress.get(incarnation);
    if (known === undefined) return false;
    return known.readMs - known.stillSinceMs >= STALLED_MS;
  }

  #startAgain(): void {
    const nowMs = this.#ports.clock.monotonicMs();
    for (const progress of this.#progress.values()) progress.stillSinceMs = nowMs;
  }
}
