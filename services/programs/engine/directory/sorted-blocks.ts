import assert from 'node:assert/strict';

/**
 * Maximum number of entries per block before a split. An insert is faster in a small block, but
 * larger blocks are fewer.
 */
const BLOCK_ENTRIES_MAX = 512;

/** Entries per block after `fill`. The first inserts then split no block. */
const FILLED_ENTRIES = 384;

/** Average number of entries that `fill` sorts at once. Takes a few milliseconds. */
const PART_ENTRIES = 2_048;

/** Samples per part, of which one becomes a pivot. With more samples, parts are more equal. */
const SAMPLES = 16;

/**
 * Sorted sequence for several hundred thousand entries. An insert or removal changes a single
 * block. A page at any offset is found by counting blocks.
 */
export class SortedBlocks<Entry> {
  readonly #compare: (a: Entry, b: Entry) => number;
  /** A block never changes, but is replaced. A copy of this list is therefore a copy of all. */
  readonly #blocks: (readonly Entry[])[] = [];

  /** `compare` must be a total order in which distinct entries never compare equal. */
  constructor(compare: (a: Entry, b: Entry) => number) {
    this.#compare = compare;
  }

  /**
   * Fills an empty sequence with entries in any order, faster than with inserts. Yields after every
   * few milliseconds of work.
   */
  *fill(entries: readonly Entry[]): Generator<undefined, void> {
    assert(this.#blocks.length === 0, 'only an empty sequence is filled');
    const pivots = this.#pivotsOf(entries);
    const parts = Array.from({ length: pivots.length + 1 }, (): Entry[] => []);
    for (const [n, entry] of entries.entries()) {
      const part = firstNot(pivots.length, (at) => this.#compare(pivots[at] as Entry, entry) < 0);
      parts[part]?.push(entry);
      if (n % PART_ENTRIES === 0) yield;
    }
    for (const part of parts) {
      part.sort(this.#compare);
      for (let start = 0; start < part.length; start += FILLED_ENTRIES) {
        this.#blocks.push(part.slice(start, start + FILLED_ENTRIES));
      }
      yield;
    }
  }

  /** Entries that divide the sequence into parts of nearly equal size, in order. */
  #pivotsOf(entries: readonly Entry[]): Entry[] {
    const parts = Math.ceil(entries.length / PART_ENTRIES);
    const step = entries.length / (SAMPLES * parts);
    const samples = Array.from({ length: SAMPLES * parts }, (_, n) => {
      return entries[Math.floor(n * step)] as Entry;
    });
    samples.sort(this.#compare);
    return samples.filter((_, n) => n > 0 && n % SAMPLES === 0);
  }

  /** Inserts an entry. The sequence must not contain the entry yet. */
  insert(entry: Entry): void {
    const index = Math.min(this.#blockOf(entry), Math.max(0, this.#blocks.length - 1));
    const block = this.#blocks[index];
    if (block === undefined) {
      this.#blocks.push([entry]);
      return;
    }
    const larger = block.toSpliced(this.#placeIn(block, entry), 0, entry);
    const half = BLOCK_ENTRIES_MAX / 2;
    if (larger.length <= BLOCK_ENTRIES_MAX) this.#blocks[index] = larger;
    else this.#blocks.splice(index, 1, larger.slice(0, half), larger.slice(half));
  }

  /** Removes an entry, if present. */
  remove(entry: Entry): void {
    const index = this.#blockOf(entry);
    const block = this.#blocks[index];
    if (block === undefined) return;
    const place = this.#placeIn(block, entry);
    const found = block[place];
    if (found === undefined || this.#compare(found, entry) !== 0) return;
    if (block.length === 1) this.#blocks.splice(index, 1);
    else this.#blocks[index] = block.toSpliced(place, 1);
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

  /**
   * The present entries in blocks, ascending or descending. Later changes do not change them.
   * `from`: without the blocks before this entry.
   */
  blocks(order: 'asc' | 'desc', from?: Entry): Iterable<readonly Entry[]> {
    const at = from === undefined ? undefined : this.#blockOf(from);
    if (order === 'asc') return this.#blocks.slice(at ?? 0);
    const until = at === undefined ? undefined : at + 1;
    const blocks = this.#blocks.slice(0, until).reverse();
    return blocks.values().map((block) => block.toReversed());
  }

  /** Present entries after `probe`, ascending or descending. */
  *behind(probe: Entry, order: 'asc' | 'desc'): Generator<Entry> {
    const sign = order === 'asc' ? 1 : -1;
    let isBehind = false;
    for (const block of this.blocks(order, probe)) {
      if (isBehind) yield* block;
      else yield* block.filter((entry) => sign * this.#compare(entry, probe) > 0);
      isBehind = true;
    }
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
