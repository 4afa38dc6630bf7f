import { COUNTED_KEYS_MAX } from '#limiter/bounds';
import { DailyCycles } from '#limiter/month-days';
import { KEY_PREFIX_LENGTH, type KeyCycles } from '#storage/meter-store';

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
