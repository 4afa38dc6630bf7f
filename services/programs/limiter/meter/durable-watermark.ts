import { RAISE_MIN, RAISE_OF_USE_MS, RAISED_STEPS } from '#limiter/bounds';

/**
 * Durable upper bound of a count: the cycles of a month or the requests of a window
 * (architecture 4). The meter raises the watermark ahead of need and never above the limit. The
 * difference between count and watermark is the pre-allocated allowance. The meter grants the
 * allowance without another append; a crash loses the allowance.
 */
export class DurableWatermark {
  /** The watermark before the last raise, and the log offset of its record. */
  #valueBefore = 0;
  #offsetBefore = 0;
  #value = 0;
  #offset = 0;
  /** Amount granted in the present tenth of a second, and in the tenth before. */
  #tenth = 0;
  #use = 0;
  #useBefore = 0;

  /** The count up to which calls may be admitted, according to the newest record. */
  get value(): number {
    return this.#value;
  }

  /** Takes the value of the record at `offset`. Offset 0: the value was durable from the start. */
  set(value: number, offset: number): void {
    this.#valueBefore = Math.min(this.#value, value);
    this.#offsetBefore = this.#offset;
    this.#value = value;
    this.#offset = offset;
  }

  /**
   * Lowers the watermark to `value`, after a record that covers everything granted so far. Grants
   * up to `value` keep depending on the same records as before.
   */
  lower(value: number): void {
    this.#valueBefore = Math.min(this.#valueBefore, value);
    this.#value = Math.min(this.#value, value);
  }

  /** Log offset of the record that must be durable before grants up to `count` are valid. */
  offsetOf(count: number): number {
    return count <= this.#valueBefore ? this.#offsetBefore : this.#offset;
  }

  /** Adds a grant to the recent use, which sets the step size. */
  noteUse(amount: number, monotonicMs: number): void {
    this.#turnTo(monotonicMs);
    this.#use += amount;
  }

  /** Whether the watermark must be raised before, or while, the total granted becomes `count`. */
  isLow(count: number, amount: number, limit: number, monotonicMs: number): boolean {
    if (count > this.#value) return true;
    if (this.#value >= limit) return false;
    return this.#value - count < this.#allowanceFor(amount, monotonicMs) / 2;
  }

  /** Whether refunds left so much allowance that a crash would lose more than two steps. */
  isHigh(count: number, monotonicMs: number): boolean {
    return this.#value - count > 2 * this.#stepAt(monotonicMs);
  }

  /**
   * The value to raise the watermark to when the total granted is `count`; never below the present
   * value.
   */
  raisedFor(count: number, amount: number, limit: number, monotonicMs: number): number {
    const target = Math.min(limit, count - amount + this.#allowanceFor(amount, monotonicMs));
    return Math.max(this.#value, count, target);
  }

  /** The value to lower the watermark to when the total granted is `count`. */
  loweredFor(count: number, monotonicMs: number): number {
    return Math.min(this.#value, count + this.#allowanceFor(0, monotonicMs));
  }

  /**
   * The allowance that a raise pre-allocates, including the call's own `amount`. At least twice
   * `amount`: if the call refunds everything, `amount` is still left.
   */
  #allowanceFor(amount: number, monotonicMs: number): number {
    const ofUse = Math.ceil(RAISED_STEPS * this.#stepAt(monotonicMs));
    return Math.max(2 * amount, ofUse);
  }

  /**
   * The step: the amount granted in the present or the last tenth of a second, at least
   * `RAISE_MIN`.
   */
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
