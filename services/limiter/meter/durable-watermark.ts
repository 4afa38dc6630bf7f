import { RAISE_MIN, RAISE_OF_USE_MS, RAISED_STEPS } from '#limiter/bounds';

/**
 * The durable upper bound of what has been counted, of a month's cycles or of a window's requests
 * (architecture 4). The meter raises it ahead of need and never above the limit. What lies between
 * count and watermark is the pre-allocated allowance: it is granted without another append, and it
 * is what a crash costs.
 */
export class DurableWatermark {
  /** The watermark before the last raise, and the log offset of its record. */
  #valueBefore = 0;
  #offsetBefore = 0;
  #value = 0;
  #offset = 0;
  /** What was granted in the present tenth of a second, and in the one before. */
  #tenth = 0;
  #use = 0;
  #useBefore = 0;

  /** The count up to which calls may be admitted, as the newest record says. */
  get value(): number {
    return this.#value;
  }

  /** Takes the value that the record at `offset` says; offset 0: it was durable from the beginning. */
  set(value: number, offset: number): void {
    this.#valueBefore = Math.min(this.#value, value);
    this.#offsetBefore = this.#offset;
    this.#value = value;
    this.#offset = offset;
  }

  /**
   * Lowers the watermark to `value`, which a record says that counts everything granted. A grant up
   * to there depends on what it depended on before.
   */
  lower(value: number): void {
    this.#valueBefore = Math.min(this.#valueBefore, value);
    this.#value = Math.min(this.#value, value);
  }

  /** Log offset of the record that a grant of everything up to `count` depends on. */
  offsetOf(count: number): number {
    return count <= this.#valueBefore ? this.#offsetBefore : this.#offset;
  }

  /** Notes a grant. */
  noteUse(amount: number, monotonicMs: number): void {
    this.#turnTo(monotonicMs);
    this.#use += amount;
  }

  /** Whether it is to be raised before, or while, `count` is granted in all. */
  isLow(count: number, amount: number, limit: number, monotonicMs: number): boolean {
    if (count > this.#value) return true;
    if (this.#value >= limit) return false;
    return this.#value - count < this.#allowanceFor(amount, monotonicMs) / 2;
  }

  /** Whether so much has been given back that a crash would cost more than two steps. */
  isHigh(count: number, monotonicMs: number): boolean {
    return this.#value - count > 2 * this.#stepAt(monotonicMs);
  }

  /** The value that it is raised to when `count` is granted in all: never lower than it is. */
  raisedFor(count: number, amount: number, limit: number, monotonicMs: number): number {
    const target = Math.min(limit, count - amount + this.#allowanceFor(amount, monotonicMs));
    return Math.max(this.#value, count, target);
  }

  /** The value that it is lowered to when `count` is granted in all. */
  loweredFor(count: number, monotonicMs: number): number {
    return Math.min(this.#value, count + this.#allowanceFor(0, monotonicMs));
  }

  /**
   * The allowance that a raise pre-allocates, the call's own amount included: twice that amount, so
   * that there is as much left when the call gives all of it back, or the steps of use.
   */
  #allowanceFor(amount: number, monotonicMs: number): number {
    const ofUse = Math.ceil(RAISED_STEPS * this.#stepAt(monotonicMs));
    return Math.max(2 * amount, ofUse);
  }

  /** Ten, or what was granted in the present or the last tenth of a second. */
  #stepAt(monotonicMs: number): number {
    this.#turnTo(monotonicMs);
    return Math.max(RAISE_MIN, this.#use, this.#useBefore);
  }

  #turnTo(monotonicMs: number): void {
    const tenth = Math.floor(monotonicMs / RAISE_OF_USE_MS);
    if (tenth === this.#tenth) return;
    this.#useBefore = tenth === this.#tenth + 1 ? this.#use : 0;
    this.#use = 0;
    this.#tenth = tenth;
  }
}
