import { RAISE_MIN, RAISE_OF_USE_MS, RAISED_STEPS } from '#limiter/bounds';

/**
 * How much of one thing may be granted, as records say: the durable mark of a month's cycles or of
 * a window's requests (architecture 4). It is raised ahead of need and never above the limit, so
 * that a crash costs little and hardly a call waits for a raise.
 *
 * Its private methods are static because V8 marks every instance of a class that has others, and of
 * these there are two for every account in use.
 */
export class Mark {
  /** The mark before the last raise, and where its record stands in the journal. */
  #before = 0;
  #placeBefore = 0;
  #value = 0;
  #place = 0;
  /** What was granted in the present tenth of a second, and in the one before. */
  #tenth = 0;
  #use = 0;
  #useBefore = 0;

  /** What may be granted, as the newest record says. */
  get value(): number {
    return this.#value;
  }

  /** The mark is now what the record at `place` says; 0 for one that was there before us. */
  set(value: number, place: number): void {
    this.#before = Math.min(this.#value, value);
    this.#placeBefore = this.#place;
    this.#value = value;
    this.#place = place;
  }

  /**
   * The mark is no higher than this from now on: a record says so that counts everything granted.
   * What is granted up to there rests on what it rested on before.
   */
  lower(value: number): void {
    this.#before = Math.min(this.#before, value);
    this.#value = Math.min(this.#value, value);
  }

  /** Where the record stands that a grant of everything up to `count` rests on. */
  placeOf(count: number): number {
    return count <= this.#before ? this.#placeBefore : this.#place;
  }

  /** Notes a grant. */
  used(amount: number, monotonicMs: number): void {
    Mark.#turn(this, monotonicMs);
    this.#use += amount;
  }

  /** Whether the mark is to be raised before, or while, `count` is granted in all. */
  isLow(count: number, amount: number, limit: number, monotonicMs: number): boolean {
    if (count > this.#value) return true;
    if (this.#value >= limit) return false;
    return this.#value - count < Mark.#allowanceOf(this, amount, monotonicMs) / 2;
  }

  /** Whether so much has been given back that a crash would cost more than two steps. */
  isHigh(count: number, monotonicMs: number): boolean {
    return this.#value - count > 2 * Mark.#stepOf(this, monotonicMs);
  }

  /** Where it is raised to when `count` is granted in all: never lower than it is. */
  target(count: number, amount: number, limit: number, monotonicMs: number): number {
    const wanted = Math.min(limit, count - amount + Mark.#allowanceOf(this, amount, monotonicMs));
    return Math.max(this.#value, count, wanted);
  }

  /** Where it is lowered to when `count` is granted in all. */
  lowTarget(count: number, monotonicMs: number): number {
    return Math.min(this.#value, count + Mark.#allowanceOf(this, 0, monotonicMs));
  }

  /**
   * How much a raise allows from before the call on, itself included: twice what it needs, so that
   * there is as much left when it gives all of it back, or the steps of use.
   */
  static #allowanceOf(mark: Mark, amount: number, monotonicMs: number): number {
    const ofUse = Math.ceil(RAISED_STEPS * Mark.#stepOf(mark, monotonicMs));
    return Math.max(2 * amount, ofUse);
  }

  /** Ten, or what a tenth of a second took of late. */
  static #stepOf(mark: Mark, monotonicMs: number): number {
    Mark.#turn(mark, monotonicMs);
    return Math.max(RAISE_MIN, mark.#use, mark.#useBefore);
  }

  static #turn(mark: Mark, monotonicMs: number): void {
    const tenth = Math.floor(monotonicMs / RAISE_OF_USE_MS);
    if (tenth === mark.#tenth) return;
    mark.#useBefore = tenth === mark.#tenth + 1 ? mark.#use : 0;
    mark.#use = 0;
    mark.#tenth = tenth;
  }
}
