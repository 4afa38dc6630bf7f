import type { Clock } from '#platform/clock';
import { DEADLINE_SWEEP_MS } from '#wire/bounds';

/**
 * Looks at deadlines every 10 ms while there are any: one timer for all calls, and none without.
 *
 * A look that comes late says that this process was stalled. It is put off once, to the next, so
 * that what has arrived meanwhile is read first: timers come before sockets, and the peer is not to
 * blame.
 */
export class DeadlineSweep implements Disposable {
  readonly #clock: Clock;
  readonly #look: (nowMs: number) => boolean;
  readonly #lookNow = () => this.#tick();
  #timer: Disposable | undefined;
  /** When the next look is due; infinite if it must not be put off once more. */
  #dueMs = 0;

  /** `look` ends what is over by monotonic time and answers whether deadlines are left. */
  constructor(clock: Clock, look: (nowMs: number) => boolean) {
    this.#clock = clock;
    this.#look = look;
  }

  /** There is a deadline from now on. On the hot path: cheap when there was one already. */
  start(nowMs: number): void {
    if (this.#timer === undefined) this.#schedule(nowMs + DEADLINE_SWEEP_MS);
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
  }

  #schedule(dueMs: number): void {
    this.#dueMs = dueMs;
    this.#timer = this.#clock.after(DEADLINE_SWEEP_MS, this.#lookNow);
  }

  #tick(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#dueMs > DEADLINE_SWEEP_MS) this.#schedule(Number.POSITIVE_INFINITY);
    else if (this.#look(nowMs)) this.start(nowMs);
  }
}
