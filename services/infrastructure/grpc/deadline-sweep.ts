import { DEADLINE_SWEEP_MS } from '#grpc/bounds';
import type { Clock } from '#stdlib/clock';

/**
 * Sweep over deadlines every 10 ms while there are any. One timer serves all calls.
 *
 * A late sweep shows that this process was stalled. The sweep is then postponed once, so that data
 * that arrived meanwhile is read first. Timers run before sockets, and the peer did not cause the
 * delay.
 */
export class DeadlineSweep implements Disposable {
  readonly #clock: Clock;
  readonly #look: (nowMs: number) => boolean;
  readonly #lookNow = () => this.#tick();
  #timer: Disposable | undefined;
  /** When the next sweep is due. Infinite if that sweep must not be postponed again. */
  #dueMs = 0;

  /**
   * `look` ends calls whose deadline has passed (monotonic) and returns whether deadlines are left.
   */
  constructor(clock: Clock, look: (nowMs: number) => boolean) {
    this.#clock = clock;
    this.#look = look;
  }

  /** Starts the sweep for a new deadline. On the hot path: cheap if the sweep is running. */
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
