import { attentionTo, BAND_LIMIT, SIGMA, whiten } from '#identity/drift';
import { MODE_COUNT, STRESS_RESPONSE } from '#identity/modes';
import { PERSONA_PROFILES, type PersonaId, personaIndexOf } from '#identity/persona-profiles';
import { at, OFFSET, type State } from '#identity/state';

/** Minimum strength of a dominant mode. Source: model 4. */
const DOMINANT_STRENGTH = 0.25;

/** Minimum strength of a dominant mode as a share of the strongest mode. Source: model 4. */
const DOMINANT_SHARE = 0.6;

/** Maximum number of dominant modes. Source: model 4. */
const DOMINANT_MAX = 2;

/** Departure (SD) at or below which a mode is suppressed. Source: model 4. */
const SUPPRESSED_DEPARTURE = -0.4;

/** Attention at or below which a mode is suppressed. Source: model 4. */
const SUPPRESSED_ATTENTION = 0.6;

/** The largest strength. */
function strongestOf(strengths: Float64Array): number {
  let strongest = at(strengths, 0);
  for (let mode = 1; mode < MODE_COUNT; mode++) {
    strongest = Math.max(strongest, at(strengths, mode));
  }
  return strongest;
}

/** Fills `dominant` with at most two modes, strongest first; empty if all modes are weak. */
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
 * Fills `suppressed`, in mode order, with non-dominant modes whose departure or attention is low.
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

/** Whether a ranking has an item. */
export function isRanked(ranking: Ranking, item: number): boolean {
  for (let index = 0; index < ranking.count; index++) {
    if (ranking.items[index] === item) return true;
  }
  return false;
}

/** Mode or action positions, in descending key order. Reusable without allocation. */
export type Ranking = {
  /** Number of valid entries in `items` and `keys`. */
  count: number;
  readonly items: Uint8Array;
  readonly keys: Float64Array;
};

/** An empty ranking for at most `capacity` items. */
export function newRanking(capacity: number): Ranking {
  return { count: 0, items: new Uint8Array(capacity), keys: new Float64Array(capacity) };
}

/**
 * Inserts `item` by descending `key`. On ties, earlier items stay first.
 *
 * Insertion is faster than a general sort for a dozen items. Negate the key for ascending order.
 */
export function place(ranking: Ranking, item: number, key: number): void {
  const { items, keys } = ranking;
  let slot = ranking.count;
  while (slot > 0 && key > at(keys, slot - 1)) {
    keys[slot] = at(keys, slot - 1);
    items[slot] = items[slot - 1] as number;
    slot--;
  }
  keys[slot] = key;
  items[slot] = item;
  ranking.count++;
}

/**
 * Inserts `item` before the first item whose key is smaller by more than `lead`, otherwise at the
 * end. Afterwards no key is smaller than a later key by more than the lead.
 */
export function placeWithLead(ranking: Ranking, item: number, key: number, lead: number): void {
  const { items, keys } = ranking;
  let slot = 0;
  while (slot < ranking.count && key - at(keys, slot) <= lead) slot++;
  keys.copyWithin(slot + 1, slot, ranking.count);
  items.copyWithin(slot + 1, slot, ranking.count);
  keys[slot] = key;
  items[slot] = item;
  ranking.count++;
}

/** Item `index` in `ranking`. The caller must keep `index` below `count`. */
export function itemAt(ranking: Ranking, index: number): number {
  return ranking.items[index] as number;
}

/** Blends of two personas that the model detects. Source: interface 2.8, model 5. */
export const COMPOSITES = [
  { key: 'knowledge_focused_relationship_aware', from: 'persona_scholar', to: 'persona_diplomat' },
  { key: 'visionary_leader', from: 'persona_leader', to: 'persona_creative' },
  { key: 'safe_adventurer', from: 'persona_guardian', to: 'persona_explorer' },
  { key: 'principled_caregiver', from: 'persona_philosopher', to: 'persona_supporter' },
] as const satisfies readonly { key: string; from: PersonaId; to: PersonaId }[];
/** Composite key. */
export type CompositeKey = (typeof COMPOSITES)[number]['key'];

/** Nearest persona and composite for given strengths, as positions; -1 for none. */
export type PersonaMatch = {
  /** Position in `PERSONA_PROFILES`. */
  nearestPersona: number;
  /** Position in `COMPOSITES`. */
  composite: number;
};

/** Minimum strength of the leading modes of a composite. */
const UNION_STRENGTH = 0.4;

/** Minimum lead of the leading modes over the other modes. */
const UNION_MARGIN = -0.1;

/**
 * Accepted section of the line between the personas of a composite, as shares of the line. Source:
 * model 5.
 */
const BLEND_MIN = 0.25;
const BLEND_MAX = 0.75;

const PERSONA_COUNT = PERSONA_PROFILES.length;

/** Persona profiles in whitened coordinates, seven values each. */
const PROFILES = whitenedProfiles();

/** Persona positions sorted by id. On ties, the first id wins. Source: model 5. */
const BY_ID = Uint8Array.from(
  PERSONA_PROFILES.map((profile, index) => ({ id: profile.id, index }))
    .sort((left, right) => (left.id < right.id ? -1 : 1))
    .map(({ index }) => index),
);

const BLENDS = COMPOSITES.map(({ from, to }) => blendOf(personaIndexOf(from), personaIndexOf(to)));

/** Scratch memory, not used across calls. */
const whitened = new Float64Array(MODE_COUNT);

/**
 * Writes the nearest persona and composite for `strengths` to `into`. Source: model 5.
 *
 * The nearest persona minimises the Mahalanobis distance; none if all modes are weak or all
 * personas are too far away. The composite has the largest margin.
 */
export function matchPersonas(strengths: Float64Array, into: PersonaMatch): void {
  whiten(strengths, whitened, 0);
  into.nearestPersona = strongestOf(strengths) < DOMINANT_STRENGTH ? -1 : nearest();
  into.composite = compositeOf(strengths);
}

/** Squared distances between `strengths` and all personas, in profile order. */
export function squaredDistances(strengths: Float64Array): Float64Array {
  whiten(strengths, whitened, 0);
  return Float64Array.from(PERSONA_PROFILES, (_, persona) => squaredDistanceTo(persona));
}

function squaredDistanceTo(persona: number): number {
  let sum = 0;
  for (let axis = 0; axis < MODE_COUNT; axis++) {
    const apart = at(whitened, axis) - at(PROFILES, persona * MODE_COUNT + axis);
    sum += apart * apart;
  }
  return sum;
}

function nearest(): number {
  let best = -1;
  let shortest = Number.POSITIVE_INFINITY;
  for (let rank = 0; rank < PERSONA_COUNT; rank++) {
    const persona = BY_ID[rank] as number;
    const distance = squaredDistanceTo(persona);
    if (distance < shortest) {
      shortest = distance;
      best = persona;
    }
  }
  return shortest > BAND_LIMIT ? -1 : best;
}

function compositeOf(strengths: Float64Array): number {
  let best = -1;
  let widest = UNION_MARGIN;
  for (let index = 0; index < BLENDS.length; index++) {
    const blend = BLENDS[index] as Blend;
    const margin = marginOf(strengths, blend.union);
    const isWider = best === -1 ? margin >= widest : margin > widest;
    if (isWider && isBetween(blend)) {
      best = index;
      widest = margin;
    }
  }
  return best;
}

/**
 * Strength of the weakest leading mode minus strength of the strongest other mode. Minus infinity
 * if a leading mode is too weak.
 */
function marginOf(strengths: Float64Array, union: number): number {
  let weakest = Number.POSITIVE_INFINITY;
  let strongest = Number.NEGATIVE_INFINITY;
  for (let mode = 0; mode < STRESS_RESPONSE; mode++) {
    const strength = at(strengths, mode);
    if ((union & (1 << mode)) !== 0) weakest = Math.min(weakest, strength);
    else strongest = Math.max(strongest, strength);
  }
  return weakest < UNION_STRENGTH ? Number.NEGATIVE_INFINITY : weakest - strongest;
}

/** A pair of personas and the vector between them. */
type Blend = {
  /** Both personas' dominant modes, as a bit mask: bit `i` for mode `i`. */
  union: number;
  from: number;
  way: Float64Array;
  /** Squared length of `way`. */
  length: number;
};

/**
 * Whether the whitened strengths are close enough to the middle section of the line between the two
 * personas.
 */
function isBetween(blend: Blend): boolean {
  let along = 0;
  for (let axis = 0; axis < MODE_COUNT; axis++) {
    const apart = at(whitened, axis) - at(PROFILES, blend.from * MODE_COUNT + axis);
    along += apart * at(blend.way, axis);
  }
  const share = along / blend.length;
  if (share < BLEND_MIN || share > BLEND_MAX) return false;
  return squaredDistanceTo(blend.from) - share * along <= BAND_LIMIT;
}

function blendOf(from: number, to: number): Blend {
  const way = Float64Array.from(
    SIGMA,
    (_, axis) => at(PROFILES, to * MODE_COUNT + axis) - at(PROFILES, from * MODE_COUNT + axis),
  );
  const length = way.reduce((sum, step) => sum + step * step, 0);
  return { union: leadingModesOf(from) | leadingModesOf(to), from, way, length };
}

function leadingModesOf(persona: number): number {
  const dominant = newRanking(MODE_COUNT);
  rankDominant(Float64Array.from(PERSONA_PROFILES[persona]?.strengths ?? []), dominant);
  let modes = 0;
  for (let index = 0; index < dominant.count; index++) modes |= 1 << itemAt(dominant, index);
  return modes;
}

function whitenedProfiles(): Float64Array {
  const profiles = new Float64Array(PERSONA_COUNT * MODE_COUNT);
  for (const [index, { strengths }] of PERSONA_PROFILES.entries()) {
    whiten(Float64Array.from(strengths), profiles, index * MODE_COUNT);
  }
  return profiles;
}
