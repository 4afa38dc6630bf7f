/** Places at the beginning: a power of two. */
const PLACES_MIN = 8;

/** An empty map with more places than this begins again with few. Chosen. */
const PLACES_KEPT = 256;

/**
 * Values by number, for what comes and goes with every call. Of a `Map` that is used so, V8 (Node
 * 24) keeps what was deleted long ago: a map that needs another table leaves the one before it
 * pointing at it, and once one of these is old, all that come after it outlive every small
 * collection, with whatever they held when they were left. This one has no such
 * chain, and no order either. It gets no smaller before it is empty.
 *
 * A hash table with open addressing and linear probing, at most half full; what is deleted is
 * filled from behind (Knuth, The Art of Computer Programming 3, 6.4, algorithm R).
 */
export class NumberMap<Value extends object> {
  #keys: number[] = new Array(PLACES_MIN).fill(0);
  #values: (Value | undefined)[] = new Array(PLACES_MIN).fill(undefined);
  #size = 0;

  /** How many values there are. */
  get size(): number {
    return this.#size;
  }

  /** The value of a key, which is a whole number from 0 to 2^53 - 1. */
  get(key: number): Value | undefined {
    return this.#values[NumberMap.#placeOf(this, key)];
  }

  /** Sets the value of a key, in the place of an earlier one. */
  set(key: number, value: Value): void {
    if (2 * this.#size >= this.#values.length) NumberMap.#grow(this);
    const place = NumberMap.#placeOf(this, key);
    if (this.#values[place] === undefined) this.#size += 1;
    this.#keys[place] = key;
    this.#values[place] = value;
  }

  /** Forgets a key, if there is one. */
  delete(key: number): void {
    const keys = this.#keys;
    const values = this.#values;
    const mask = values.length - 1;
    let hole = NumberMap.#placeOf(this, key);
    if (values[hole] === undefined) return;
    for (let place = (hole + 1) & mask; values[place] !== undefined; place = (place + 1) & mask) {
      const home = homeOf(keys[place] as number, mask);
      // It may go to the hole unless its search begins after that.
      if (((place - home) & mask) < ((place - hole) & mask)) continue;
      keys[hole] = keys[place] as number;
      values[hole] = values[place];
      hole = place;
    }
    values[hole] = undefined;
    this.#size -= 1;
    if (this.#size === 0 && values.length > PLACES_KEPT) NumberMap.#begin(this, PLACES_MIN);
  }

  /** All values as they are now, in any order. */
  values(): Value[] {
    return this.#values.filter((value) => value !== undefined);
  }

  /** Where a key is, or where it would be put. */
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

/** Where the search for a key begins: its bits, mixed so that numbers in a row lie apart. */
function homeOf(key: number, mask: number): number {
  const mixed = Math.imul(key ^ Math.imul(key / 0x1_0000_0000, 0x85eb_ca6b), 0x9e37_79b1);
  return (mixed ^ (mixed >>> 15)) & mask;
}
