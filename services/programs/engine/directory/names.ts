/**
 * Maximum number of entries in a block before a split. Small enough to shift, and blocks stay few.
 */
const BLOCK_ENTRIES_MAX = 512;

/**
 * Sorted sequence that stays fast with hundreds of thousands of entries. An insert or removal
 * touches one block. A page at any offset is found by counting blocks.
 */
export class SortedBlocks<Entry> {
  readonly #compare: (a: Entry, b: Entry) => number;
  readonly #blocks: Entry[][] = [];

  /** `compare`: total order in which no two distinct entries are equal. */
  constructor(compare: (a: Entry, b: Entry) => number) {
    this.#compare = compare;
  }

  /** Inserts an entry that is not in the sequence. */
  insert(entry: Entry): void {
    const index = Math.min(this.#blockOf(entry), Math.max(0, this.#blocks.length - 1));
    const block = this.#blocks[index];
    if (block === undefined) {
      this.#blocks.push([entry]);
      return;
    }
    block.splice(this.#placeIn(block, entry), 0, entry);
    if (block.length > BLOCK_ENTRIES_MAX) {
      // Copy both halves: a shortened array would keep its memory.
      const half = BLOCK_ENTRIES_MAX / 2;
      this.#blocks.splice(index, 1, block.slice(0, half), block.slice(half));
    }
  }

  /** Removes an entry, if the sequence has it. */
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

  /** Entry that compares equal to `probe`. */
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

  /** A copy of all entries as they are now, in blocks, ascending or descending. */
  copy(order: 'asc' | 'desc'): readonly (readonly Entry[])[] {
    if (order === 'asc') return this.#blocks.map((block) => block.slice());
    return this.#blocks.toReversed().map((block) => block.toReversed());
  }

  /**
   * Entries after `probe` in ascending or descending order. Consume them before the next insert or
   * removal.
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

  /** First block whose last entry is not before `entry`. */
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

/** First index below `end` at which `isBefore` is false, or `end`. Binary search. */
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
 * Minimum number of renames of one account that are remembered. A walk by name fails after more
 * renames.
 */
const RENAMES_MAX = 4_096;

/** Estimated bytes of one rename in memory. */
const RENAME_BYTES = 200;

type Rename = { readonly instanceId: string; readonly nameBefore: string };

/**
 * Newest renames of an account's instances. With them a walk sorted by name keeps its initial
 * order: a row that is renamed meanwhile stays at its old place (decision 281).
 */
export class RenameLog {
  /** Distinguishes this log from those of earlier and later owners of the directory. */
  readonly epoch: number;
  readonly #renames: Rename[] = [];
  #dropped = 0;

  constructor(epoch: number) {
    this.epoch = epoch;
  }

  /** Number of all renames so far. */
  get count(): number {
    return this.#dropped + this.#renames.length;
  }

  /** Approximate bytes in memory. */
  get bytes(): number {
    return RENAME_BYTES * this.#renames.length;
  }

  /** Remembers a rename. */
  add(instanceId: string, nameBefore: string): void {
    this.#renames.push({ instanceId, nameBefore });
    if (this.#renames.length <= 2 * RENAMES_MAX) return;
    this.#dropped += RENAMES_MAX;
    this.#renames.splice(0, RENAMES_MAX);
  }

  /**
   * Names after the first `count` renames, of the instances that were renamed later. Undefined if
   * these renames are no longer remembered.
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
