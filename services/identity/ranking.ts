import { at } from '#identity/at';

/** Positions (of modes, of actions) in descending order of a key. Reusable; holds no garbage. */
export type Ranking = {
  /** How many places of `items` count. */
  count: number;
  readonly items: Uint8Array;
  readonly keys: Float64Array;
};

/** An empty ranking of at most `capacity` items. */
export function newRanking(capacity: number): Ranking {
  return { count: 0, items: new Uint8Array(capacity), keys: new Float64Array(capacity) };
}

/**
 * Places `item` by `key`, behind whatever has the same key: equal items stay in the order in which
 * they came. Insertion beats any sort at a dozen items. Negate the key for an ascending list.
 */
export function place(ranking: Ranking, item: number, key: number): void {
  const { items, keys } = ranking;
  let slot = ranking.count;
  while (slot > 0 && at(keys, slot - 1) < key) {
    keys[slot] = at(keys, slot - 1);
    items[slot] = items[slot - 1] as number;
    slot--;
  }
  keys[slot] = key;
  items[slot] = item;
  ranking.count++;
}

/** Item `index` of `ranking`, which the caller keeps below `count`. */
export function itemAt(ranking: Ranking, index: number): number {
  return ranking.items[index] as number;
}
