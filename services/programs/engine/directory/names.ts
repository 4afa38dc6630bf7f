import type { ListedInstance } from '#storage/ports/listings';

/**
 * Minimum number of stored renames per account. After more renames, a paged read sorted by name
 * fails.
 */
const RENAMES_MAX = 4_096;

/** Estimated memory per rename, in bytes. */
const RENAME_BYTES = 200;

type Rename = { readonly instanceId: string; readonly nameBefore: string };

/**
 * The newest renames in an account. Paged reads sorted by name use the log to keep renamed rows at
 * their old positions (decision 281).
 */
export class RenameLog {
  /** Distinguishes this log from the logs of earlier and later owners. */
  readonly epoch: number;
  readonly #renames: Rename[] = [];
  #dropped = 0;

  constructor(epoch: number) {
    this.epoch = epoch;
  }

  /** Number of renames so far. */
  get count(): number {
    return this.#dropped + this.#renames.length;
  }

  /** Approximate memory use in bytes. */
  get bytes(): number {
    return RENAME_BYTES * this.#renames.length;
  }

  /** Adds a rename to the log. */
  add(instanceId: string, nameBefore: string): void {
    this.#renames.push({ instanceId, nameBefore });
    if (this.#renames.length <= 2 * RENAMES_MAX) return;
    this.#dropped += RENAMES_MAX;
    this.#renames.splice(0, RENAMES_MAX);
  }

  /**
   * Names at the time when `count` renames had happened, for instances renamed later. Undefined if
   * the log no longer has these renames.
   */
  namesAt(count: number): ReadonlyMap<string, string> | undefined {
    if (count < this.#dropped || count > this.count) return undefined;
    const names = new Map<string, string>();
    for (const { instanceId, nameBefore } of this.#renames.slice(count - this.#dropped)) {
      if (!names.has(instanceId)) names.set(instanceId, nameBefore);
    }
    return names;
  }
}

/** Search time slice before a yield, in milliseconds. Source: decision 254. */
const SEARCH_SLICE_MS = 2;

/**
 * Number of rows searched between two clock reads. Searching this many 100-character names takes
 * half a slice in any alphabet.
 */
const SEARCHED_ROWS_PER_LOOK = 64;

/**
 * Calls `take` for the entries of blocks until it returns false. Yields after each time slice.
 * `nowMs` is a monotonic clock.
 */
export function* inSlices<Entry>(
  blocks: Iterable<readonly Entry[]>,
  nowMs: () => number,
  take: (entry: Entry) => boolean,
): Generator<undefined, void> {
  const slice = new SearchSlice(nowMs);
  for (const block of blocks) {
    for (const entry of block) {
      if (slice.isOver()) {
        yield;
        slice.begin();
      }
      if (!take(entry)) return;
    }
  }
}

/** Time slice of a search. */
export class SearchSlice {
  readonly #nowMs: () => number;
  #rows = 0;
  #endMs = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.begin();
  }

  begin(): void {
    this.#endMs = this.#nowMs() + SEARCH_SLICE_MS;
  }

  /** Counts a row. Reads the clock every `SEARCHED_ROWS_PER_LOOK` rows. */
  isOver(): boolean {
    this.#rows += 1;
    return this.#rows % SEARCHED_ROWS_PER_LOOK === 0 && this.#nowMs() >= this.#endMs;
  }
}

/**
 * Part of an id: the prefix with any digits, or at least six digits. Fewer digits are words, such as
 * `face`, and would find ids by chance.
 */
const PART_OF_ID = /^(?:inst_[0-9a-f]*|[0-9a-f]{6,})$/;

/** Returns a predicate: whether a row's name contains `text` in any case, or its id contains `text`. */
export function searchFor(text: string): (row: ListedInstance) => boolean {
  // Twice as fast as comparing lower-case names, which would copy each name.
  const pattern = new RegExp(RegExp.escape(text), 'iu');
  if (!PART_OF_ID.test(text)) return ({ name }) => pattern.test(name);
  return ({ name, instanceId }) => instanceId.includes(text) || pattern.test(name);
}
