import { putNewest } from '#platform/put-newest';

/** Entries of each of a table's two maps; the oldest is forgotten first. */
const ENTRIES_MAX = 10_000;

/** The window in which refusals are counted, and how long a bar stands, in milliseconds. */
const MINUTE_MS = 60_000;

/** The window of look-ups, in milliseconds. */
const SECOND_MS = 1_000;

/** When a source is barred, and what it is granted even then. */
type BarLimits = {
  readonly refusalsPerMinute: number;
  readonly lookupsPerSecond: number;
};

type Count = { refusals: number; readonly sinceMs: number };

type Bar = {
  readonly untilMs: number;
  /** When unknown keys were looked up, the newest last: no more than may be in a second. */
  readonly lookupsMs: number[];
};

/**
 * Sources of refused keys: counted for a minute, then barred for a minute. Those that are barred
 * have a map of their own, so that a source which only begins to be counted can never push one out:
 * that takes as many bars as the table holds, each of which costs its source a minute's refusals.
 */
export class BarTable {
  readonly #limits: BarLimits;
  readonly #counts = new Map<string, Count>();
  readonly #bars = new Map<string, Bar>();
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(limits: BarLimits) {
    this.#limits = limits;
  }

  /** Whether no source is remembered as barred. */
  get isEmpty(): boolean {
    return this.#bars.size === 0;
  }

  /**
   * Whether a source is barred, or was a second ago: bars that have ended are dropped here, because
   * every call pays for a table that has any.
   */
  hasBars(nowMs: number): boolean {
    if (this.#bars.size > 0 && nowMs - this.#lookedMs >= SECOND_MS) {
      this.#lookedMs = nowMs;
      this.#dropExpired(nowMs);
    }
    return this.#bars.size > 0;
  }

  /** Counts a refused key. Returns whether the source is barred from now on. */
  count(source: string, nowMs: number): boolean {
    if (this.#barOf(source, nowMs) !== undefined) return false;
    let count = this.#counts.get(source);
    if (count === undefined || nowMs - count.sinceMs >= MINUTE_MS) {
      count = { refusals: 0, sinceMs: nowMs };
      putNewest(this.#counts, source, count, ENTRIES_MAX);
    }
    count.refusals += 1;
    if (count.refusals < this.#limits.refusalsPerMinute) return false;
    this.#counts.delete(source);
    this.#dropExpired(nowMs);
    putNewest(this.#bars, source, { untilMs: nowMs + MINUTE_MS, lookupsMs: [] }, ENTRIES_MAX);
    return true;
  }

  /** Whether the source is barred and has had this second's look-ups. */
  isSpent(source: string, nowMs: number): boolean {
    const bar = this.#barOf(source, nowMs);
    if (bar === undefined || bar.lookupsMs.length < this.#limits.lookupsPerSecond) return false;
    return nowMs - (bar.lookupsMs[0] ?? nowMs) < SECOND_MS;
  }

  /** Notes that an unknown key of the source is looked up. */
  spend(source: string, nowMs: number): void {
    const bar = this.#barOf(source, nowMs);
    if (bar === undefined) return;
    bar.lookupsMs.push(nowMs);
    if (bar.lookupsMs.length > this.#limits.lookupsPerSecond) bar.lookupsMs.shift();
  }

  #barOf(source: string, nowMs: number): Bar | undefined {
    const bar = this.#bars.get(source);
    return bar === undefined || nowMs >= bar.untilMs ? undefined : bar;
  }

  /** Bars stand in the order of their ends. */
  #dropExpired(nowMs: number): void {
    for (const [source, { untilMs }] of this.#bars) {
      if (nowMs < untilMs) return;
      this.#bars.delete(source);
    }
  }
}
