import { COUNTED_KEYS_MAX, RAISE_MIN, RAISE_OF_USE_MS, RAISED_STEPS } from '#limiter/quota-bounds';
import { KEY_PREFIX_LENGTH, type KeyCycles } from '#storage/ports/meters';

/*
 * A month's used cycles by day, as a short list. The first element is the index of the first day
 * with usage. Then follows, for that day and each later day up to yesterday, the total used by the
 * end of that day. All later usage belongs to today, so the days always add up to the month.
 */

const DAY_MS = 24 * 60 * 60 * 1_000;

const NO_ENDS: readonly number[] = [];

/** Such a list; undefined if nothing was used yet. */
export type MonthDays = readonly number[] | undefined;

/**
 * Index of the UTC day of `wallMs` in the month that ends at `monthEndsAtMs`, from 0. Times outside
 * the month give its first or last day.
 */
export function dayOfMonth(monthEndsAtMs: number, wallMs: number): number {
  const last = new Date(monthEndsAtMs - DAY_MS).getUTCDate() - 1;
  const left = Math.floor((monthEndsAtMs - 1 - wallMs) / DAY_MS);
  return Math.min(last, Math.max(0, last - left));
}

/** The UTC day of a time, in days since 1970. */
export function dayAt(wallMs: number): number {
  return Math.floor(wallMs / DAY_MS);
}

/** Unix milliseconds at which a UTC day (in days since 1970) begins. */
export function timeOfDay(day: number): number {
  return day * DAY_MS;
}

/** Cycles that an account or a key used in a month, by day. */
export class DailyCycles {
  #used = 0;
  /** `days` in two parts, to save the list if all cycles were used on one day; -1: no cycles. */
  #firstDay = -1;
  #dayEnds: readonly number[] = NO_ENDS;

  get used(): number {
    return this.#used;
  }

  /** Number of days that have ended since the first day with usage. */
  get dayCount(): number {
    return this.#dayEnds.length;
  }

  /** Used cycles by day as in records; undefined if there are none. */
  get days(): MonthDays {
    return this.#firstDay < 0 ? undefined : [this.#firstDay, ...this.#dayEnds];
  }

  /** Continues the counts of a record. Its cycles belong to the record's day or before. */
  restore(days: MonthDays, used: number, today: number): void {
    this.#used = used;
    this.#keep(days);
    this.turnDay(today);
  }

  /** Adds cycles of the day `today`. */
  add(cycles: number, today: number): void {
    this.#used += cycles;
    if (this.#firstDay < 0 && this.#used > 0) this.#firstDay = today;
  }

  /** Starts the day `today`: cycles added later belong to it. */
  turnDay(today: number): void {
    this.#keep(daysUntil(this.days, this.#used, today));
  }

  #keep(days: MonthDays): void {
    const [first = -1, ...ends] = days ?? [];
    this.#firstDay = first;
    this.#dayEnds = ends.length === 0 ? NO_ENDS : ends;
  }
}

/** The list extended to the day `today`; `used` is the month's total so far. */
export function daysUntil(days: MonthDays, used: number, today: number): MonthDays {
  // Cycles counted without a list, as by older releases, have no known day: count them as today's.
  if (days === undefined) return used === 0 ? undefined : [today];
  const missing = today - dayOf(days);
  return missing > 0 ? [...days, ...Array<number>(missing).fill(used)] : days;
}

/** The cycles of each day, from the first day of the month to the day of the list. */
export function cyclesByDay(days: MonthDays, used: number): number[] {
  if (days === undefined) return [];
  const [first = 0, ...ends] = days;
  const upTo = [0, ...ends, used];
  return [
    ...Array<number>(first).fill(0),
    ...upTo.slice(1).map((end, index) => end - (upTo[index] ?? 0)),
  ];
}

/** The present day of a list. */
function dayOf(days: readonly number[]): number {
  return (days[0] ?? 0) + days.length - 1;
}

/** Bytes of a counted key: its prefix and numbers; measured in `test/limiter/memory.test.ts`. */
const COUNTED_KEY_BYTES = 136;

/** Bytes of one entry of `#dayEnds`. */
const DAY_BYTES = 8;

/** Usage of one API key in a month. */
export class KeyCount extends DailyCycles {
  /** The first characters of the key's digest. */
  readonly prefix: string;

  constructor(prefix: string) {
    super();
    this.prefix = prefix;
  }
}

const NONE: readonly KeyCount[] = [];

/**
 * Usage of each key of an account in a month. The month's total may exceed the sum of its keys: the
 * difference belongs to no known key (decision 259).
 */
export class KeyCounts {
  #counts = NONE;

  /** Bytes held in memory, estimated. */
  get bytes(): number {
    return this.#counts.reduce((sum, { dayCount }) => sum + bytesOf(dayCount), 0);
  }

  /** Counts as in records, in the order of first use; undefined if no key was used. */
  get stored(): readonly KeyCycles[] | undefined {
    if (this.#counts.length === 0) return undefined;
    return this.#counts.map(({ prefix, used: cycles, days }) =>
      days === undefined ? { prefix, cycles } : { prefix, cycles, days },
    );
  }

  /** The count of a key, by its digest or digest prefix. Creates the count if missing. */
  of(digest: string): KeyCount {
    for (const count of this.#counts) if (digest.startsWith(count.prefix)) return count;
    const count = new KeyCount(digest.slice(0, KEY_PREFIX_LENGTH));
    this.#counts = withRoom(this.#counts).concat(count);
    return count;
  }

  /** Continues the counts of a record. */
  restore(keys: readonly KeyCycles[] = [], today: number): void {
    this.#counts = keys.map(({ prefix, cycles, days }) => {
      const count = new KeyCount(prefix);
      count.restore(days, cycles, today);
      return count;
    });
  }

  /** Starts the day `today`: cycles counted later belong to it. */
  turnDay(today: number): void {
    for (const count of this.#counts) count.turnDay(today);
  }

  /** Removes all counts. */
  clear(): void {
    this.#counts = NONE;
  }
}

/** Estimated bytes of a key's count with `dayCount` days, in memory or in a record. */
export function bytesOf(dayCount: number): number {
  return COUNTED_KEY_BYTES + DAY_BYTES * dayCount;
}

/** Drops the least used key if the list is full. Its cycles then belong to no known key. */
function withRoom(counts: readonly KeyCount[]): readonly KeyCount[] {
  if (counts.length < COUNTED_KEYS_MAX) return counts;
  const least = counts.reduce((low, count) => (count.used < low.used ? count : low));
  return counts.filter((count) => count !== least);
}

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
