/** Initial number of slots, a power of two. */
const PLACES_MIN = 8;

/** Number of slots from which an emptied map shrinks to the initial size. */
const PLACES_KEPT = 256;

/**
 * Map from numbers to values, for entries that are added and deleted with every call. The map is
 * unordered and shrinks only when empty.
 *
 * A JavaScript `Map` under such load makes V8 (Node 24) retain deleted entries. Rehashing leaves a
 * pointer from the old table to the new table. After one of these tables has moved to the old
 * generation, all later tables survive every minor garbage collection, with their contents.
 * `NumberMap` has no such chain.
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
      // The entry may move into the gap unless its home slot lies after the gap.
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

  /** Slot of a key, or the free slot for the key. */
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

/** Home slot of a key. The bits are mixed, so that consecutive numbers are spread. */
function homeOf(key: number, mask: number): number {
  const mixed = Math.imul(key ^ Math.imul(key / 0x1_0000_0000, 0x85eb_ca6b), 0x9e37_79b1);
  return (mixed ^ (mixed >>> 15)) & mask;
}

/** Multipliers of MurmurHash3's 32-bit finalizer (Appleby, public domain). */
const MIX_1 = 0x85ebca6b;
const MIX_2 = 0xc2b2ae35;

/**
 * Spreads every bit over all 32 bits: the finalizer of MurmurHash3, a bijection. The result is a
 * signed 32-bit integer; `>>> 0` makes the result unsigned.
 */
export function mixBits(bits: number): number {
  let mixed = bits | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), MIX_1);
  mixed = Math.imul(mixed ^ (mixed >>> 13), MIX_2);
  return mixed ^ (mixed >>> 16);
}

/** Offset basis and prime of 32-bit FNV-1a. Source: draft-eastlake-fnv. */
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * Hash of a text, 0 to 2^32 - 1. The result must be the same on every machine and in every version,
 * because routing depends on it. FNV-1a over UTF-16 units, which needs no encoding. `mixBits` then
 * improves the weak low bits.
 */
export function hashText(text: string): number {
  let hash = FNV_OFFSET;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  }
  return mixBits(hash) >>> 0;
}

/** Number of parts in a full map. An eviction drops the oldest part. */
const PARTS = 64;

/**
 * Inserts an entry as the newest of an LRU map with at most `entriesMax` entries. A full map evicts
 * a whole part in one step, because finding a map's first entry gets slower with every deleted
 * entry.
 */
export function putNewest<Value>(
  entries: Map<string, Value>,
  key: string,
  value: Value,
  entriesMax: number,
): void {
  entries.delete(key);
  if (entries.size >= entriesMax) dropOldest(entries, Math.ceil(entriesMax / PARTS));
  entries.set(key, value);
}

function dropOldest(entries: Map<string, unknown>, count: number): void {
  let left = count;
  for (const key of entries.keys()) {
    if (left === 0) return;
    entries.delete(key);
    left -= 1;
  }
}
