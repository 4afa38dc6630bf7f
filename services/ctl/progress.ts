import type { Clock } from '#platform/clock';

/** Between two lines about work under way, in milliseconds. Chosen: a reader sees that it goes on. */
const REPORT_MS = 2_000;

/** Says how far long work has come, every two seconds; of short work it says nothing. */
export class Progress {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #report: (line: string) => void;
  #saidAtMs: number;

  constructor(clock: Pick<Clock, 'monotonicMs'>, report: (line: string) => void) {
    this.#clock = clock;
    this.#report = report;
    this.#saidAtMs = clock.monotonicMs();
  }

  /** Takes what could be said now; `text` is asked for it only when it is time. */
  at(text: () => string): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#saidAtMs < REPORT_MS) return;
    this.#saidAtMs = nowMs;
    this.#report(text());
  }
}

/** How much of something is done, in whole per cent. */
export function percentOf(done: number, total: number): number {
  return total === 0 ? 100 : Math.floor((100 * done) / total);
}
