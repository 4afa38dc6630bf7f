import { COUNTED_KEYS_MAX } from '#limiter/bounds';
import { KEY_PREFIX_LENGTH, type KeyCycles } from '#storage/ports/meters';

/*
 * Which day of a month its used cycles are of, as a list that is short where little was used: the index
 * of the first day with any, then for that day and each day after it, up to yesterday, how many cycles
 * of the month were used at its end. What was used since is today's: the days always add up to the month.
 */

const DAY_MS = 24 * 60 * 60 * 1_000;

const NO_ENDS: readonly number[] = [];

/** Such a list; undefined: nothing was used yet. */
export type MonthDays = readonly number[] | undefined;

/** The index of the UTC day of a month that ends at `monthEndsAtMs`, from 0; never one outside of it. */
export function dayOfMonth(monthEndsAtMs: number, wallMs: number): number {
  const last = new Date(monthEndsAtMs - DAY_MS).getUTCDate() - 1;
  const left = Math.floor((monthEndsAtMs - 1 - wallMs) / DAY_MS);
  return Math.min(last, Math.max(0, last - left));
}

/** The UTC day of a time, in days since 1970. */
export function dayAt(wallMs: number): number {
  return Math.floor(wallMs / DAY_MS);
}

/** Unix milliseconds at which such a day begins. */
export function timeOfDay(day: number): number {
  return day * DAY_MS;
}

/** An account's cycles of a month, or a key's of them, with the days that they are of. */
export class DailyCycles {
  #used = 0;
  /** `days` in two parts, without a list for the many that were used on one day; -1: on none. */
  #firstDay = -1;
  #dayEnds: readonly number[] = NO_ENDS;

  get used(): number {
    return this.#used;
  }

  /** How many days have ended since the first with any. */
  get dayCount(): number {
    return this.#dayEnds.length;
  }

  /** Which day they are of, as records have it; undefined: there are none. */
  get days(): MonthDays {
    return this.#firstDay < 0 ? undefined : [this.#firstDay, ...this.#dayEnds];
  }

  /** Continues what a record has: what was used by its time was so on its day or before. */
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

  /** What is added from now on is of `today`. */
  turnDay(today: number): void {
    this.#keep(daysUntil(this.days, this.#used, today));
  }

  #keep(days: MonthDays): void {
    const [first = -1, ...ends] = days ?? [];
    this.#firstDay = first;
    this.#dayEnds = ends.length === 0 ? NO_ENDS : ends;
  }
}

/** The list on the day `today`, `used` being all that the month has used so far. */
export function daysUntil(days: MonthDays, used: number, today: number): MonthDays {
  // Of what was used before there was a list, or by a release that keeps none, the day is not known.
  if (days === undefined) return used === 0 ? undefined : [today];
  const missing = today - dayOf(days);
  return missing > 0 ? [...days, ...Array<number>(missing).fill(used)] : days;
}

/** The cycles of each day, from the first day of the month to the day that the list is of. */
export function cyclesByDay(days: MonthDays, used: number): number[] {
  if (days === undefined) return [];
  const [first = 0, ...ends] = days;
  const upTo = [0, ...ends, used];
  return [
    ...Array<number>(first).fill(0),
    ...upTo.slice(1).map((end, index) => end - (upTo[index] ?? 0)),
  ];
}

/** The day that a list is of. */
function dayOf(days: readonly number[]): number {
  return (days[0] ?? 0) + days.length - 1;
}

/** Bytes of a counted key: its prefix and numbers; measured in `test/limiter/memory.test.ts`. */
const COUNTED_KEY_BYTES = 136;

/** Bytes of a day's end. */
const DAY_BYTES = 8;

/** What one key has used of a month. */
export class KeyCount extends DailyCycles {
  /** The beginning of its digest. */
  readonly prefix: string;

  constructor(prefix: string) {
    super();
    this.prefix = prefix;
  }
}

const NONE: readonly KeyCount[] = [];

/**
 * What each key of an account has used of a month. What the month has used beyond their sum is of no key
 * that is known: nothing is counted twice, and nothing can be missing (decision 259).
 */
export class KeyCounts {
  #counts = NONE;

  /** Bytes held in memory, estimated. */
  get bytes(): number {
    return this.#counts.reduce((sum, { dayCount }) => sum + bytesOf(dayCount), 0);
  }

  /** As records have them, in the order in which the keys were first used; undefined: none was. */
  get stored(): readonly KeyCycles[] | undefined {
    if (this.#counts.length === 0) return undefined;
    return this.#counts.map(({ prefix, used: cycles, days }) =>
      days === undefined ? { prefix, cycles } : { prefix, cycles, days },
    );
  }

  /** The count of the key with this digest, or of which this is the prefix. */
  of(digest: string): KeyCount {
    for (const count of this.#counts) if (digest.startsWith(count.prefix)) return count;
    const count = new KeyCount(digest.slice(0, KEY_PREFIX_LENGTH));
    this.#counts = withRoom(this.#counts).concat(count);
    return count;
  }

  /** Continues what a record has. */
  restore(keys: readonly KeyCycles[] = [], today: number): void {
    this.#counts = keys.map(({ prefix, cycles, days }) => {
      const count = new KeyCount(prefix);
      count.restore(days, cycles, today);
      return count;
    });
  }

  /** What is counted from now on is of `today`. */
  turnDay(today: number): void {
    for (const count of this.#counts) count.turnDay(today);
  }

  /** Begins with nothing used. */
  clear(): void {
    this.#counts = NONE;
  }
}

/** Bytes of a key's count with `dayCount` days, estimated; those of a record are much the same. */
export function bytesOf(dayCount: number): number {
  return COUNTED_KEY_BYTES + DAY_BYTES * dayCount;
}

/** Without the least used one where there is no room for another: what it used is of no known key then. */
function withRoom(counts: readonly KeyCount[]): readonly KeyCount[] {
  if (counts.length < COUNTED_KEYS_MAX) return counts;
  const least = counts.reduce((low, count) => (count.used < low.used ? count : low));
  return counts.filter((count) => count !== least);
}
