/**
 * Spreads what has to be done within some time, and comes back for ever, evenly over it: of those
 * that wait the same share may begin in each part of the time. Without it what fell due together
 * once would be done together, and fall due together again, ever after.
 */
export class EvenPace {
  readonly #withinMs: number;
  #earned = 0;
  #earnedMs: number;

  constructor(withinMs: number, nowMs: number) {
    this.#withinMs = withinMs;
    this.#earnedMs = nowMs;
  }

  /** Time has passed (monotonic), with `waiting` actors due. */
  earn(waiting: number, nowMs: number): void {
    const earned = (waiting * (nowMs - this.#earnedMs)) / this.#withinMs;
    this.#earned = Math.min(waiting, this.#earned + earned);
    this.#earnedMs = nowMs;
  }

  /** Whether one more may begin although it is not due yet. */
  get mayBegin(): boolean {
    return this.#earned >= 1;
  }

  /** `count` have begun together, due or not; what they have taken too much the next ones wait for. */
  began(count = 1): void {
    this.#earned = Math.max(1 - count, this.#earned - count);
  }
}
