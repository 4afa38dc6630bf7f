import { SIGMA } from '#identity/covariance';
import { attentionTo } from '#identity/learning';
import { MODE_COUNT } from '#identity/modes';
import { at } from '#identity/numbers';
import { OFFSET, type State } from '#identity/state';

/** Least strength of a mode that can lead, and its least share of the strongest one. Model 4. */
export const DOMINANT_STRENGTH = 0.25;
const DOMINANT_SHARE = 0.6;

/** Most modes that lead. Source: model 4. */
const DOMINANT_MAX = 2;

/** Departure (SD) at which a mode is held down, and attention at which it is unheard. Model 4. */
const SUPPRESSED_DEPARTURE = -0.4;
const SUPPRESSED_ATTENTION = 0.6;

/** The strongest of seven strengths. */
export function strongestOf(strengths: Float64Array): number {
  let strongest = at(strengths, 0);
  for (let mode = 1; mode < MODE_COUNT; mode++) {
    strongest = Math.max(strongest, at(strengths, mode));
  }
  return strongest;
}

/** Fills `dominant` with the one or two leading modes, strongest first; none if all are weak. */
export function rankDominant(strengths: Float64Array, dominant: Ranking): void {
  const least = Math.max(DOMINANT_STRENGTH, DOMINANT_SHARE * strongestOf(strengths));
  dominant.count = 0;
  for (let mode = 0; mode < MODE_COUNT; mode++) {
    const strength = at(strengths, mode);
    if (strength >= least) place(dominant, mode, strength);
  }
  if (dominant.count > DOMINANT_MAX) dominant.count = DOMINANT_MAX;
}

/** Fills `suppressed`, in mode order, with what is held down or unheard and does not lead. */
export function rankSuppressed(state: State, dominant: Ranking, suppressed: Ranking): void {
  const stress = at(state, OFFSET.stress);
  suppressed.count = 0;
  for (let mode = 0; mode < MODE_COUNT; mode++) {
    const away = at(state, OFFSET.tendency + mode) - at(state, OFFSET.setPoint + mode);
    const isHeldDown = away / at(SIGMA, mode) <= SUPPRESSED_DEPARTURE;
    if (!isHeldDown && attentionTo(mode, stress) > SUPPRESSED_ATTENTION) continue;
    if (!isRanked(dominant, mode)) place(suppressed, mode, -mode);
  }
}

function isRanked(ranking: Ranking, item: number): boolean {
  for (let index = 0; index < ranking.count; index++) {
    if (ranking.items[index] === item) return true;
  }
  return false;
}

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
