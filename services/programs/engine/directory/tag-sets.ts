import { FirstItems } from '#engine/directory/first-items';
import { NO_TAGS } from '#storage/ports/instances';

/** Maximum memory of an account's different sets of tags, in bytes. No set is added above it. */
const TAG_SETS_BYTES_MAX = 64 * 1_024 * 1_024;

/** Memory of a set without its texts, and of each of its tags, in bytes. */
const SET_BYTES = 200;
const PAIR_BYTES = 180;

/** Instances with a tag. */
export type TagCount = { readonly key: string; readonly value: string; readonly count: number };

/** All tags of some instances. Most instances share their set with many others. */
type TagSet = { readonly json: string; readonly pairs: readonly string[]; instances: number };

/** A tag: the number of its instances, and the numbers of the sets that have it. */
type Tag = { instances: number; readonly sets: Set<number> };

const NO_SETS: ReadonlySet<number> = new Set();

/**
 * The different sets of tags of an account, each once, with a number. Counts the instances of every
 * tag.
 */
export class TagSets {
  readonly #numbers = new Map<string, number>();
  readonly #sets: (TagSet | undefined)[] = [];
  readonly #free: number[] = [];
  readonly #tags = new Map<string, Tag>();
  #bytes = 0;
  #isTooLarge = false;

  /** Memory in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether a set was not added, because the sets would need too much memory. */
  get isTooLarge(): boolean {
    return this.#isTooLarge;
  }

  /** Number of different tags. */
  get different(): number {
    return this.#tags.size;
  }

  /**
   * Counts an instance with these tags, and returns the number of the set. If a new set would need
   * too much memory, the instance counts as one without tags.
   */
  take(json: string): number {
    const known = this.#numbers.get(json);
    if (known === undefined && json !== NO_TAGS && this.#bytes > TAG_SETS_BYTES_MAX) {
      this.#isTooLarge = true;
      return this.take(NO_TAGS);
    }
    const number = known ?? this.#free.pop() ?? this.#sets.length;
    const set = this.#sets[number] ?? this.#add(number, json);
    set.instances += 1;
    for (const pair of set.pairs) this.#tagOf(pair).instances += 1;
    return number;
  }

  /**
   * Stops counting an instance with this set. A damaged number may have no set: the call of the
   * instance must not fail, and `recount` repairs the counters.
   */
  drop(number: number): void {
    const set = this.#sets[number];
    if (set === undefined) return;
    set.instances -= 1;
    for (const pair of set.pairs) this.#tagOf(pair).instances -= 1;
    if (set.instances <= 0) this.#forget(number, set);
  }

  /** Tags of a set as JSON text; undefined if no set has the number. */
  jsonOf(number: number): string | undefined {
    return this.#sets[number]?.json;
  }

  /** Counts the numbers of all instances again. Returns whether the counters were right. */
  recount(numbers: Uint32Array): boolean {
    const instances = new Uint32Array(this.#sets.length);
    // An iterator would take several times as long.
    for (let slot = 0; slot < numbers.length; slot += 1) {
      const number = numbers[slot] as number;
      if (number < instances.length) instances[number] = (instances[number] as number) + 1;
    }
    const before = new Map([...this.#tags].map(([pair, tag]) => [pair, tag.instances]));
    for (const tag of this.#tags.values()) tag.instances = 0;
    let isRight = true;
    for (const [number, set] of this.#sets.entries()) {
      if (set === undefined) continue;
      const counted = instances[number] as number;
      isRight &&= set.instances === counted;
      set.instances = counted;
      for (const pair of set.pairs) this.#tagOf(pair).instances += counted;
      if (counted === 0) this.#forget(number, set);
    }
    isRight &&= before.size === this.#tags.size;
    for (const [pair, count] of before) isRight &&= this.#tags.get(pair)?.instances === count;
    return isRight;
  }

  /** 1 at the numbers of the sets that have all these tags, else 0. */
  having(tags: readonly (readonly [key: string, value: string])[]): Uint8Array {
    const found = new Uint8Array(this.#sets.length);
    const [fewest = NO_SETS, ...others] = tags
      .map((tag) => this.#tags.get(JSON.stringify(tag))?.sets ?? NO_SETS)
      .sort((a, b) => a.size - b.size);
    for (const number of fewest) {
      if (others.every((other) => other.has(number))) found[number] = 1;
    }
    return found;
  }

  /** The most frequent tags, at most `count`. Ties by key and value. */
  frequent(count: number): TagCount[] {
    const first = new FirstItems<readonly [pair: string, count: number]>(count, (a, b) => {
      return b[1] - a[1] || (a[0] < b[0] ? -1 : 1);
    });
    for (const [pair, { instances }] of this.#tags) first.add([pair, instances]);
    return first.sorted.map(([pair, instances]) => {
      const [key, value]: [string, string] = JSON.parse(pair);
      return { key, value, count: instances };
    });
  }

  #tagOf(pair: string): Tag {
    const known = this.#tags.get(pair);
    if (known !== undefined) return known;
    const tag = { instances: 0, sets: new Set<number>() };
    this.#tags.set(pair, tag);
    return tag;
  }

  #add(number: number, json: string): TagSet {
    const set = { json, pairs: pairsOf(json), instances: 0 };
    this.#sets[number] = set;
    this.#numbers.set(json, number);
    for (const pair of set.pairs) this.#tagOf(pair).sets.add(number);
    this.#bytes += bytesOf(set);
    return set;
  }

  #forget(number: number, set: TagSet): void {
    this.#bytes -= bytesOf(set);
    this.#numbers.delete(set.json);
    this.#sets[number] = undefined;
    this.#free.push(number);
    for (const pair of set.pairs) {
      const { sets } = this.#tagOf(pair);
      sets.delete(number);
      if (sets.size === 0) this.#tags.delete(pair);
    }
  }
}

function pairsOf(json: string): string[] {
  if (json === NO_TAGS) return [];
  return Object.entries(JSON.parse(json)).map((tag) => JSON.stringify(tag));
}

function bytesOf({ json, pairs }: TagSet): number {
  return SET_BYTES + 4 * json.length + PAIR_BYTES * pairs.length;
}
