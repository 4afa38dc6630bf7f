/**
 * Maximum number of entries per block before a split. An insert is faster in a small block, but
 * larger blocks are fewer.
 */
const BLOCK_ENTRIES_MAX = 512;

/**
 * Sorted sequence for several hundred thousand entries. An insert or removal changes a single
 * block. A page at any offset is found by counting blocks.
 */
export class SortedBlocks<Entry> {
  readonly #compare: (a: Entry, b: Entry) => number;
  readonly #blocks: Entry[][] = [];

  /** `compare` must be a total order in which distinct entries never compare equal. */
  constructor(compare: (a: Entry, b: Entry) => number) {
    this.#compare = compare;
  }

  /** Inserts an entry. The sequence must not contain the entry yet. */
  insert(entry: Entry): void {
    const index = Math.min(this.#blockOf(entry), Math.max(0, this.#blocks.length - 1));
    const block = this.#blocks[index];
    if (block === undefined) {
      this.#blocks.push([entry]);
      return;
    }
    block.splice(this.#placeIn(block, entry), 0, entry);
    if (block.length > BLOCK_ENTRIES_MAX) {
      // Copy both halves: an array keeps its memory after shortening.
      const half = BLOCK_ENTRIES_MAX / 2;
      this.#blocks.splice(index, 1, block.slice(0, half), block.slice(half));
    }
  }

  /** Removes an entry, if present. */
  remove(entry: Entry): void {
    const index = this.#blockOf(entry);
    const block = this.#blocks[index];
    if (block === undefined) return;
    const place = this.#placeIn(block, entry);
    const found = block[place];
    if (found === undefined || this.#compare(found, entry) !== 0) return;
    block.splice(place, 1);
    if (block.length === 0) this.#blocks.splice(index, 1);
  }

  /** Finds the entry that compares equal to `probe`. */
  find(probe: Entry): Entry | undefined {
    const block = this.#blocks[this.#blockOf(probe)];
    const found = block?.[this.#placeIn(block, probe)];
    return found !== undefined && this.#compare(found, probe) === 0 ? found : undefined;
  }

  /** At most `count` entries from `offset` on, ascending. */
  slice(offset: number, count: number): Entry[] {
    const taken: Entry[] = [];
    let skip = offset;
    for (const block of this.#blocks) {
      if (taken.length >= count) break;
      if (skip < block.length) {
        for (const entry of block.slice(skip, skip + count - taken.length)) taken.push(entry);
      }
      skip = Math.max(0, skip - block.length);
    }
    return taken;
  }

  /** Copies all present entries, in blocks, ascending or descending. */
  copy(order: 'asc' | 'desc'): readonly (readonly Entry[])[] {
    if (order === 'asc') return this.#blocks.map((block) => block.slice());
    return this.#blocks.toReversed().map((block) => block.toReversed());
  }

  /**
   * Entries after `probe`, ascending or descending. The caller must consume the entries before the
   * next insert or removal.
   */
  *behind(probe: Entry, order: 'asc' | 'desc'): Generator<Entry> {
    const start = this.#blockOf(probe);
    const block = this.#blocks[start] ?? [];
    const place = this.#placeIn(block, probe);
    if (order === 'desc') {
      yield* block.slice(0, place).reverse();
      for (const before of this.#blocks.slice(0, start).reverse()) yield* before.toReversed();
      return;
    }
    const first = block[place];
    const isProbe = first !== undefined && this.#compare(first, probe) === 0;
    yield* block.slice(isProbe ? place + 1 : place);
    for (const after of this.#blocks.slice(start + 1)) yield* after;
  }

  /** First block whose last entry does not precede `entry`. */
  #blockOf(entry: Entry): number {
    return firstNot(this.#blocks.length, (index) => {
      const last = this.#blocks[index]?.at(-1);
      return last !== undefined && this.#compare(last, entry) < 0;
    });
  }

  #placeIn(block: readonly Entry[], entry: Entry): number {
    return firstNot(block.length, (index) => {
      const there = block[index];
      return there !== undefined && this.#compare(there, entry) < 0;
    });
  }
}

/** First index below `end` with `isBefore` false, else `end`. Binary search. */
function firstNot(end: number, isBefore: (index: number) => boolean): number {
  let low = 0;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

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
