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
