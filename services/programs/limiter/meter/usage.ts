import { COUNTED_KEYS_MAX, RAISE_MIN, RAISE_OF_USE_MS, RAISED_STEPS } from '#limiter/quota-bounds';
import { KEY_PREFIX_LENGTH, type KeyCycles } from '#storage/ports/meters';

/*
 * A month's used cycles by day, as a short list. The first element is the first day's index. The
 * following elements are running totals: at that day's end, and at each later day's end up to
 * yesterday. All further usage belongs to today, so the days always add up to the month.
 */

const DAY_MS = 24 * 60 * 60 * 1_000;

const NO_ENDS: readonly number[] = [];

/** Index of the first day with usage, and running totals by day. Undefined: no usage yet. */
export type MonthDays = readonly number[] | undefined;

/**
 * UTC day index for a time in the month that ends at `monthEndsAtMs`, from 0. Times outside the
 * month give the first or last day.
 */
export function dayOfMonth(monthEndsAtMs: number, wallMs: number): number {
  const last = new Date(monthEndsAtMs - DAY_MS).getUTCDate() - 1;
  const left = Math.floor((monthEndsAtMs - 1 - wallMs) / DAY_MS);
  return Math.min(last, Math.max(0, last - left));
}

/** UTC day containing a time, in days since 1970. */
export function dayAt(wallMs: number): number {
  return Math.floor(wallMs / DAY_MS);
}

/** Unix milliseconds at which a UTC day begins; `day` in days since 1970. */
export function timeOfDay(day: number): number {
  return day * DAY_MS;
}

/** Used cycles by day in a month, for an account or a key. */
export class DailyCycles {
  #used = 0;
  /** Index of the first day with usage; -1: no usage. */
  #firstDay = -1;
  /** Running totals at the ends of days. A separate field, so that usage on one day needs no list. */
  #dayEnds: readonly number[] = NO_ENDS;

  get used(): number {
    return this.#used;
  }

  /** Days that have ended since the first day with usage. */
  get dayCount(): number {
    return this.#dayEnds.length;
  }

  /** Used cycles by day, as in records; undefined: no usage. */
  get days(): MonthDays {
    return this.#firstDay < 0 ? undefined : [this.#firstDay, ...this.#dayEnds];
  }

  /** Continues a record's counts. The record's cycles belong to its day or earlier. */
  restore(days: MonthDays, used: number, today: number): void {
    this.#used = used;
    DailyCycles.#keep(this, days);
    this.turnDay(today);
  }

  /** Adds cycles for the day `today`. */
  add(cycles: number, today: number): void {
    this.#used += cycles;
    if (this.#firstDay < 0 && this.#used > 0) this.#firstDay = today;
  }

  /** Starts the day `today`: later cycles belong to this day. */
  turnDay(today: number): void {
    DailyCycles.#keep(this, daysUntil(this.days, this.#used, today));
  }

  // Static: V8 gives every object of a class with private methods an extra field.
  static #keep(counts: DailyCycles, days: MonthDays): void {
    const [first = -1, ...ends] = days ?? [];
    counts.#firstDay = first;
    counts.#dayEnds = ends.length === 0 ? NO_ENDS : ends;
  }
}

/** Extends a list to the day `today`; `used` is the month's total so far. */
export function daysUntil(days: MonthDays, used: number, today: number): MonthDays {
  // Older releases counted without a list, so the day is unknown. The cycles are counted for today.
  if (days === undefined) return used === 0 ? undefined : [today];
  const missing = today - dayOf(days);
  return missing > 0 ? [...days, ...Array<number>(missing).fill(used)] : days;
}

/** Cycles per day, from the month's first day to the list's present day. */
export function cyclesByDay(days: MonthDays, used: number): number[] {
  if (days === undefined) return [];
  const [first = 0, ...ends] = days;
  const upTo = [0, ...ends, used];
  return [
    ...Array<number>(first).fill(0),
    ...upTo.slice(1).map((end, index) => end - (upTo[index] ?? 0)),
  ];
}

/** Index of the day that further usage of a list belongs to. */
function dayOf(days: readonly number[]): number {
  return (days[0] ?? 0) + days.length - 1;
}

/**
 * Memory per counted key, in bytes: prefix and numbers; measured in `test/limiter/memory.test.ts`.
 */
const COUNTED_KEY_BYTES = 136;

/** Memory per entry in `#dayEnds`, in bytes. */
const DAY_BYTES = 8;

/** Usage by an API key in a month. */
export class KeyCount extends DailyCycles {
  /** The key digest's first characters. */
  readonly prefix: string;

  constructor(prefix: string) {
    super();
    this.prefix = prefix;
  }
}

const NONE: readonly KeyCount[] = [];

/**
 * An account's usage by key in a month. The month's total may exceed the sum of all keys: the
 * difference belongs to unknown keys (decision 259).
 */
export class KeyCounts {
  #counts = NONE;

  /** Estimated memory, in bytes. */
  get bytes(): number {
    return this.#counts.reduce((sum, { dayCount }) => sum + bytesOf(dayCount), 0);
  }

  /** Counts as in records, in order of first use; undefined: no key was used. */
  get stored(): readonly KeyCycles[] | undefined {
    if (this.#counts.length === 0) return undefined;
    return this.#counts.map(({ prefix, used: cycles, days }) =>
      days === undefined ? { prefix, cycles } : { prefix, cycles, days },
    );
  }

  /** A key's count, by digest or digest prefix. Creates a missing count. */
  of(digest: string): KeyCount {
    for (const count of this.#counts) if (digest.startsWith(count.prefix)) return count;
    const count = new KeyCount(digest.slice(0, KEY_PREFIX_LENGTH));
    this.#counts = withRoom(this.#counts).concat(count);
    return count;
  }

  /** Continues a record's counts. */
  restore(keys: readonly KeyCycles[] = [], today: number): void {
    this.#counts = keys.map(({ prefix, cycles, days }) => {
      const count = new KeyCount(prefix);
      count.restore(days, cycles, today);
      return count;
    });
  }

  /** Starts the day `today`: later cycles belong to this day. */
  turnDay(today: number): void {
    for (const count of this.#counts) count.turnDay(today);
  }

  /** Removes all counts. */
  clear(): void {
    this.#counts = NONE;
  }
}

/** Estimated memory for a key's count with `dayCount` days, in bytes, also in a record. */
export function bytesOf(dayCount: number): number {
  return COUNTED_KEY_BYTES + DAY_BYTES * dayCount;
}

/** Drops the least used key if the list is full. Its cycles then belong to an unknown key. */
function withRoom(counts: readonly KeyCount[]): readonly KeyCount[] {
  if (counts.length < COUNTED_KEYS_MAX) return counts;
  const least = counts.reduce((low, count) => (count.used < low.used ? count : low));
  return counts.filter((count) => count !== least);
}

/**
 * Durable upper bound for a count: cycles in a month, or requests in a window (architecture 4). The
 * meter raises the watermark ahead of need, but never above the limit. The difference between count
 * and watermark is the pre-allocated allowance, which the meter can grant without another append,
 * and which a crash loses.
 */
export class DurableWatermark {
  /** Watermark before the newest raise. */
  #valueBefore = 0;
  /** Log offset of the record with `#valueBefore`. */
  #offsetBefore = 0;
  #value = 0;
  #offset = 0;
  /** Index of the present tenth of a second in monotonic time. */
  #tenth = 0;
  /** Amount granted in the present tenth of a second. */
  #use = 0;
  /** Amount granted in the previous tenth of a second. */
  #useBefore = 0;

  /** Count up to which the newest record allows grants. */
  get value(): number {
    return this.#value;
  }

  /** Sets the value from the record at `offset`. Offset 0: the value is already durable. */
  set(value: number, offset: number): void {
    this.#valueBefore = Math.min(this.#value, value);
    this.#offsetBefore = this.#offset;
    this.#value = value;
    this.#offset = offset;
  }

  /**
   * Lowers the watermark to `value`, after a record that covers all grants so far. Grants up to
   * `value` depend on the same records as before.
   */
  lower(value: number): void {
    this.#valueBefore = Math.min(this.#valueBefore, value);
    this.#value = Math.min(this.#value, value);
  }

  /** Log offset that must be durable before grants up to `count` are valid. */
  offsetOf(count: number): number {
    return count <= this.#valueBefore ? this.#offsetBefore : this.#offset;
  }

  /** Adds a grant to recent use, which determines the step. */
  noteUse(amount: number, monotonicMs: number): void {
    this.#turnTo(monotonicMs);
    this.#use += amount;
  }

  /** Whether the watermark must be raised for a total of `count` grants. */
  isLow(count: number, amount: number, limit: number, monotonicMs: number): boolean {
    if (count > this.#value) return true;
    if (this.#value >= limit) return false;
    return this.#value - count < this.#allowanceFor(amount, monotonicMs) / 2;
  }

  /** Whether refunds left an allowance of more than two steps, which a crash would lose. */
  isHigh(count: number, monotonicMs: number): boolean {
    return this.#value - count > 2 * this.#stepAt(monotonicMs);
  }

  /** New watermark to raise to, for a total of `count` grants; never below the present value. */
  raisedFor(count: number, amount: number, limit: number, monotonicMs: number): number {
    const target = Math.min(limit, count - amount + this.#allowanceFor(amount, monotonicMs));
    return Math.max(this.#value, count, target);
  }

  /** New watermark to lower to, for a total of `count` grants. */
  loweredFor(count: number, monotonicMs: number): number {
    return Math.min(this.#value, count + this.#allowanceFor(0, monotonicMs));
  }

  /**
   * Allowance that a raise pre-allocates, including the call's `amount`. At least twice `amount`:
   * after a full refund, `amount` remains.
   */
  #allowanceFor(amount: number, monotonicMs: number): number {
    const ofUse = Math.ceil(RAISED_STEPS * this.#stepAt(monotonicMs));
    return Math.max(2 * amount, ofUse);
  }

  /** Step: amount granted in the present or previous tenth of a second, at least `RAISE_MIN`. */
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
