import { SIGMA } from '#identity/covariance';
import { attentionTo } from '#identity/learning';
import { MODE_COUNT } from '#identity/modes';
import { at } from '#identity/numbers';
import { OFFSET, type State } from '#identity/state';

/**
 * Minimum strength of a dominant mode, and its minimum share of the strongest mode. Source: model
 * 4.
 */
export const DOMINANT_STRENGTH = 0.25;
const DOMINANT_SHARE = 0.6;

/** Maximum number of dominant modes. Source: model 4. */
const DOMINANT_MAX = 2;

/** Departure (SD) and attention at or below which a mode is suppressed. Source: model 4. */
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

/** Fills `dominant` with one or two dominant modes, strongest first; none if all modes are weak. */
export function rankDominant(strengths: Float64Array, dominant: Ranking): void {
  const least = Math.max(DOMINANT_STRENGTH, DOMINANT_SHARE * strongestOf(strengths));
  dominant.count = 0;
  for (let mode = 0; mode < MODE_COUNT; mode++) {
    const strength = at(strengths, mode);
    if (strength >= least) place(dominant, mode, strength);
  }
  if (dominant.count > DOMINANT_MAX) dominant.count = DOMINANT_MAX;
}

/**
 * Fills `suppressed`, in mode order, with modes of low departure or low attention that do not
 * dominate.
 */
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

/** Positions of modes or actions, in descending order of a key. Reusable without allocation. */
export type Ranking = {
  /** Number of valid entries in `items` and `keys`. */
  count: number;
  readonly items: Uint8Array;
  readonly keys: Float64Array;
};

/** An empty ranking of at most `capacity` items. */
export function newRanking(capacity: number): Ranking {
  return { count: 0, items: new Uint8Array(capacity), keys: new Float64Array(capacity) };
}

/**
 * Inserts `item` by descending `key`. On ties, earlier items stay first.
 *
 * Insertion beats a general sort for a dozen items. Negate the key for an ascending order.
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

/** Item `index` of `ranking`. The caller keeps `index` below `count`. */
export function itemAt(ranking: Ranking, index: number): number {
  return ranking.items[index] as number;
}
