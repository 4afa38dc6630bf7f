import { COUNTED_KEYS_MAX } from '#limiter/bounds';
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
