/** Initial number of slots, a power of two. */
const PLACES_MIN = 8;

/** Number of slots above which an emptied map shrinks to the initial size. */
const PLACES_KEPT = 256;

/**
 * Map from numbers to values, for entries that come and go with every call. It is unordered, and
 * shrinks only when empty.
 *
 * A JavaScript `Map` under such load makes V8 (Node 24) retain deleted entries: rehashing leaves
 * the old table pointing at the new one. Once one of these tables is in the old generation, all
 * later tables survive every minor garbage collection, with their contents. `NumberMap` has no such
 * chain.
 *
 * Implementation: a hash table with open addressing and linear probing, at most half full. Deletion
 * closes the gap (Knuth, The Art of Computer Programming 3, 6.4, algorithm R).
 */
export class NumberMap<Value extends object> {
  #keys: number[] = new Array(PLACES_MIN).fill(0);
  #values: (Value | undefined)[] = new Array(PLACES_MIN).fill(undefined);
  #size = 0;

  /** Number of entries. */
  get size(): number {
    return this.#size;
  }

  /** Value of a key. Keys are whole numbers from 0 to 2^53 - 1. */
  get(key: number): Value | undefined {
    return this.#values[NumberMap.#placeOf(this, key)];
  }

  /** Sets or replaces the value of a key. */
  set(key: number, value: Value): void {
    if (2 * this.#size >= this.#values.length) NumberMap.#grow(this);
    const place = NumberMap.#placeOf(this, key);
    if (this.#values[place] === undefined) this.#size += 1;
    this.#keys[place] = key;
    this.#values[place] = value;
  }

  /** Deletes a key, if present. */
  delete(key: number): void {
    const keys = this.#keys;
    const values = this.#values;
    const mask = values.length - 1;
    let hole = NumberMap.#placeOf(this, key);
    if (values[hole] === undefined) return;
    for (let place = (hole + 1) & mask; values[place] !== undefined; place = (place + 1) & mask) {
      const home = homeOf(keys[place] as number, mask);
      // The entry may move to the hole unless its home slot lies after the hole.
      if (((place - home) & mask) < ((place - hole) & mask)) continue;
      keys[hole] = keys[place] as number;
      values[hole] = values[place];
      hole = place;
    }
    values[hole] = undefined;
    this.#size -= 1;
    if (this.#size === 0 && values.length > PLACES_KEPT) NumberMap.#begin(this, PLACES_MIN);
  }

  /** All current values, in no particular order. */
  values(): Value[] {
    return this.#values.filter((value) => value !== undefined);
  }

  /** Slot of a key, or the free slot for it. */
  static #placeOf(map: NumberMap<object>, key: number): number {
    const mask = map.#values.length - 1;
    let place = homeOf(key, mask);
    while (map.#values[place] !== undefined && map.#keys[place] !== key) place = (place + 1) & mask;
    return place;
  }

  static #begin(map: NumberMap<object>, places: number): void {
    map.#keys = new Array(places).fill(0);
    map.#values = new Array(places).fill(undefined);
  }

  static #grow(map: NumberMap<object>): void {
    const keys = map.#keys;
    const values = map.#values;
    NumberMap.#begin(map, 2 * values.length);
    for (const [i, value] of values.entries()) {
      if (value === undefined) continue;
      const place = NumberMap.#placeOf(map, keys[i] as number);
      map.#keys[place] = keys[i] as number;
      map.#values[place] = value;
    }
  }
}

/** Home slot of a key. Bits are mixed, so that consecutive numbers are spread. */
function homeOf(key: number, mask: number): number {
  const mixed = Math.imul(key ^ Math.imul(key / 0x1_0000_0000, 0x85eb_ca6b), 0x9e37_79b1);
  return (mixed ^ (mixed >>> 15)) & mask;
}
