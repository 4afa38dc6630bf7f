import { UNKNOWN_FLAGS } from '#engine/directory/flag-counts';
import type { ListedInstance } from '#storage/ports/listings';

/** Slot of a row that no index has. */
export const NO_SLOT = -1;

/** Number of a set of tags that is not known yet. */
export const UNKNOWN_TAGS = 0xffff_ffff;

/** Slots of a new index, and the reserve of a larger one as a share of its slots. */
const SLOTS_MIN = 1_024;
const RESERVE_SHARE = 1 / 8;

/** Memory of a slot in the columns and of its row in `rows`, in bytes. */
const SLOT_BYTES = 32;

/** Slots that are read one after the other, in a scattered order of blocks. */
const BLOCK_SLOTS = 64;

/** Row of a listing with its place in the newest index. The index changes the slot. */
export type IndexedRow = ListedInstance & { slot: number };

/** Values of the instances of an index, in columns with a slot per instance. */
export class FleetColumns {
  readonly rows: (IndexedRow | undefined)[] = [];
  #bitmap = new Uint8Array(0);
  flags = new Int32Array(0);
  // A version counts the changes of an instance, so it has far fewer than 32 bits.
  flagsVersions = new Uint32Array(0);
  /** Times of the newest changes in Unix milliseconds; NaN: unknown. */
  changedAtMs = new Float64Array(0);
  /** Numbers of sets of tags. */
  tags = new Uint32Array(0);
  tagsVersions = new Uint32Array(0);
  /** Number of slots in use, and free slots. */
  slots = 0;
  readonly #free: number[] = [];

  /** Memory in bytes. */
  get bytes(): number {
    return this.flags.length * SLOT_BYTES;
  }

  /** Whether a row has a slot of this index. A replaced index leaves its slots in the rows. */
  isPlaced({ slot, instanceId }: IndexedRow): boolean {
    return slot !== NO_SLOT && this.rows[slot]?.instanceId === instanceId;
  }

  /** Gives a row a slot with unknown values, unless it has one. Returns the slot. */
  place(row: IndexedRow): number {
    if (!this.isPlaced(row)) {
      const slot = this.#free.pop() ?? this.slots;
      if (slot === this.slots) {
        this.slots += 1;
        if (this.slots > this.flags.length) this.#grow();
      }
      this.#clear(slot);
      row.slot = slot;
    }
    this.rows[row.slot] = row;
    return row.slot;
  }

  /** Frees the slot of a row. */
  remove({ slot }: IndexedRow): void {
    this.#clear(slot);
    this.#free.push(slot);
  }

  /** Value of a column. Slots are below the length of the columns. */
  at(column: Int32Array | Uint32Array | Float64Array, slot: number): number {
    return column[slot] as number;
  }

  /**
   * Ranges of slots in a scattered order. The first items of a sort then change rarely, whatever the
   * order of the slots is.
   */
  *blocks(): Generator<readonly [start: number, end: number]> {
    const blocks = Math.ceil(this.slots / BLOCK_SLOTS);
    const step = scatteringStep(blocks);
    for (let count = 0, block = 0; count < blocks; count += 1, block = (block + step) % blocks) {
      const start = block * BLOCK_SLOTS;
      yield [start, Math.min(this.slots, start + BLOCK_SLOTS)];
    }
  }

  /**
   * A byte per slot, all 0. The next call reuses the bytes, unless `keepBitmap` is called before:
   * new arrays of this size would cause long garbage collections.
   */
  bitmap(): Uint8Array {
    if (this.#bitmap.length < this.slots) this.#bitmap = new Uint8Array(this.flags.length);
    else this.#bitmap.fill(0);
    return this.#bitmap;
  }

  /** Leaves the newest bitmap to its user. */
  keepBitmap(): void {
    this.#bitmap = new Uint8Array(0);
  }

  #clear(slot: number): void {
    this.rows[slot] = undefined;
    this.flags[slot] = UNKNOWN_FLAGS;
    this.flagsVersions[slot] = 0;
    this.changedAtMs[slot] = Number.NaN;
    this.tags[slot] = UNKNOWN_TAGS;
    this.tagsVersions[slot] = 0;
  }

  #grow(): void {
    const length = Math.max(SLOTS_MIN, Math.ceil(this.flags.length * (1 + RESERVE_SHARE)));
    this.flags = grown(this.flags, new Int32Array(length));
    this.flagsVersions = grown(this.flagsVersions, new Uint32Array(length));
    this.changedAtMs = grown(this.changedAtMs, new Float64Array(length));
    this.tags = grown(this.tags, new Uint32Array(length));
    this.tagsVersions = grown(this.tagsVersions, new Uint32Array(length));
  }
}

/** Step through a number of blocks that reaches each block once, near the golden ratio. */
function scatteringStep(blocks: number): number {
  let step = Math.max(1, Math.round(blocks * 0.618));
  while (greatestDivisor(step, blocks) > 1) step += 1;
  return step;
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

function grown<Column extends Int32Array | Uint32Array | Float64Array>(
  from: Column,
  into: Column,
): Column {
  into.set(from);
  return into;
}
