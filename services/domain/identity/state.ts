import { IDENTITY, MODE_COUNT, STRESS_RESPONSE } from '#identity/modes';

/**
 * An identity's state: a fixed array of doubles. Nothing else of an identity is persisted.
 *
 * A flat array can be copied with one `set`, stored without rounding, and replayed bit by bit.
 * `OFFSET` is the layout for model version 1.0. Changing meaning or order requires a new model
 * version. Source: model 1, model 9 (persistence).
 */
export type State = Float64Array;

/** Offsets within the state. A vector has seven elements, a scalar one. Source: model 1. */
export const OFFSET = {
  /** Home base `h`, immutable after creation, in [0, 1]. */
  home: 0,
  /** Tendencies `x`, the latent activations, in [-0.5, 1.5]. */
  tendency: 7,
  /** Set-point `b`, which learns slowly, in [-0.5, 1.5]. */
  setPoint: 14,
  /** Evidence weight `n` behind the set-point, in readings, [8, 100]. */
  evidence: 21,
  /** Evidence `cp` that a mode has moved up, log-likelihood, [0, 1.25 H]. */
  risen: 28,
  /** Evidence `cm` that a mode has moved down, log-likelihood, [0, 1.25 H]. */
  fallen: 35,
  /** Anchoring `a0`: personality strength in the home, [0, 1]. */
  anchoring: 42,
  /**
   * Acute stress decay rate, per second. Derived from the home. Stored, so that a cycle does not
   * compute the power again.
   */
  stressRate: 43,
  /** Acute stress load `S`, [0, 1]. */
  stress: 44,
  /** Allostatic load `L`, the slow average of acute stress, [0, 1]. */
  load: 45,
  /** Energy `E`, [0, resting energy]. */
  energy: 46,
  /** Resting energy `e_h`, immutable, [0.8, 1]. */
  restingEnergy: 47,
  /** Initial energy `E0` for the reset `initial`, [0, 1]. */
  initialEnergy: 48,
  /** Stability memory `V`, the smoothed band statistic, at least 0. */
  unrest: 49,
  /** Consecutive informative cycles outside the band, an integer. */
  run: 50,
  /** Stress level 0..3 = LOW, MED, HIGH, OVER. */
  stressLevel: 51,
  /** Energy band 0..3 = EMPTY, LOW, REDUCED, FULL. */
  energyBand: 52,
  /** Processed observations since creation or reset. */
  cycle: 53,

  /** Last rollback point: `x`, `b`, `n`, then the scalars below. */
  savedTendency: 54,
  savedSetPoint: 61,
  savedEvidence: 68,
  savedStress: 75,
  savedLoad: 76,
  savedEnergy: 77,
  savedUnrest: 78,
  savedStressLevel: 79,
  savedEnergyBand: 80,
  savedCycle: 81,

  /**
   * The last cycle's drift level, 0..3 = D0..D3. A rollback makes this and the following findings
   * impossible to recompute.
   */
  driftLevel: 82,
  /** Standardised departures `z` after the last cycle, before a rollback. */
  departure: 83,
  /** Value of `run` before a rollback. */
  foundRun: 90,
  /** The last cycle's largest drift evidence, log-likelihood. */
  foundStatistic: 91,
  /** Mode and direction of `foundStatistic`: mode + 1, negative for down; 0: no evidence. */
  foundDirection: 92,
  /** Modes whose evidence has reached the limit, as a bit mask: bit `i` for mode `i`. */
  foundSustained: 93,
} as const;

/** Number of doubles in a state. */
export const STATE_LENGTH = 94;

/** Layout and parameter version, stored with each state. Source: model 9. */
export const MODEL_VERSION = '1.0';

/** Settings for a new identity, including defaults. */
export type InitialConfig = {
  /** Seven strengths in mode order, each in [0, 1]; all 0: the neutral identity. */
  modeStrengths: readonly number[];
  /** In [0, 1]. */
  energyLevel: number;
};

/** Default energy for a new identity. Source: interface 4.1. */
export const ENERGY_DEFAULT = 0.8;

/**
 * Minimum resting energy. An identity with less initial energy starts drained and recovers. Source:
 * model 1.
 */
const RESTING_ENERGY_MIN = 0.8;

/** Strength of the strongest mode at which a home is fully anchored. Source: model 1. */
const ANCHORED_STRENGTH = 0.5;

/** Evidence weight for a neutral home, in readings. Source: model 2.6. */
const EVIDENCE_PRIOR = 8;
/**
 * Evidence weight for an anchored home, and maximum for any set-point, in readings. Source:
 * model 2.6.
 */
export const EVIDENCE_MAX = 100;

/** Acute stress half-life if identity and stress response are equal. Source: model 2.2. */
const STRESS_HALF_LIFE_SECONDS = 900;

/** Acute stress half-life for `home`, in seconds. Source: model 2.2. */
export function stressHalfLifeSeconds(home: ArrayLike<number>): number {
  return STRESS_HALF_LIFE_SECONDS * twoTo((home[STRESS_RESPONSE] ?? 0) - (home[IDENTITY] ?? 0));
}

/** The number 1 in fixed point, for `twoTo`. */
const ONE = 1n << 96n;

/** The natural logarithm of 2 in fixed point. */
const LN2 = 0xb17217f7d1cf79abc9e3b398n;

/** Bits of an exponent of `twoTo` after the point. */
const EXPONENT_BITS = 60n;

/**
 * 2 to the power `exponent`, in [-1, 1], by the series of the exponential function. Unlike `**`,
 * returns the same bits on every release of Node.js, processor and system.
 */
function twoTo(exponent: number): number {
  const fixed = BigInt(Math.round(exponent * Number(1n << EXPONENT_BITS)));
  const power = (LN2 * fixed) >> EXPONENT_BITS;
  let sum = ONE;
  for (let term = power, n = 2n; term !== 0n; n += 1n) {
    sum += term;
    term = (term * power) / (ONE * n);
  }
  return Number(sum) / Number(ONE);
}

/**
 * Creates an identity at rest on its home, which is also the first rollback point. Source: model 1.
 */
export function createState(config: InitialConfig): State {
  const state = new Float64Array(STATE_LENGTH);
  const home = Float64Array.from({ length: MODE_COUNT }, (_, mode) =>
    clamp(config.modeStrengths[mode] ?? 0, 0, 1),
  );
  const energy = clamp(config.energyLevel, 0, 1);
  const anchoring = Math.min(1, Math.max(...home) / ANCHORED_STRENGTH);
  const evidence = EVIDENCE_PRIOR + (EVIDENCE_MAX - EVIDENCE_PRIOR) * anchoring;
  state.set(home, OFFSET.home);
  state.set(home, OFFSET.tendency);
  state.set(home, OFFSET.setPoint);
  state.fill(evidence, OFFSET.evidence, OFFSET.evidence + MODE_COUNT);
  state[OFFSET.anchoring] = anchoring;
  state[OFFSET.stressRate] = Math.LN2 / stressHalfLifeSeconds(home);
  state[OFFSET.energy] = energy;
  state[OFFSET.initialEnergy] = energy;
  state[OFFSET.restingEnergy] = Math.max(RESTING_ENERGY_MIN, energy);
  state[OFFSET.energyBand] = bandOf(energy);
  saveRollbackPoint(state);
  return state;
}

/** Saves `state` as target for rollbacks and the reset `default`. Source: model 3.5. */
export function saveRollbackPoint(state: State): void {
  for (let place = 0; place < 3 * MODE_COUNT; place++) {
    state[OFFSET.savedTendency + place] = at(state, OFFSET.tendency + place);
  }
  state[OFFSET.savedStress] = at(state, OFFSET.stress);
  state[OFFSET.savedLoad] = at(state, OFFSET.load);
  state[OFFSET.savedEnergy] = at(state, OFFSET.energy);
  state[OFFSET.savedUnrest] = at(state, OFFSET.unrest);
  state[OFFSET.savedStressLevel] = at(state, OFFSET.stressLevel);
  state[OFFSET.savedEnergyBand] = at(state, OFFSET.energyBand);
  state[OFFSET.savedCycle] = at(state, OFFSET.cycle);
}

/**
 * Restores the modes from the rollback point and clears the drift evidence. Source: model 3.5.
 *
 * Stress, energy and cycle count stay unchanged. Otherwise an attack could restore spent energy.
 */
export function rollBack(state: State): void {
  for (let place = 0; place < 3 * MODE_COUNT; place++) {
    state[OFFSET.tendency + place] = at(state, OFFSET.savedTendency + place);
  }
  state.fill(0, OFFSET.risen, OFFSET.risen + 2 * MODE_COUNT);
  state[OFFSET.run] = 0;
}

/**
 * A new state like `state` at its creation. Keeps the stress rate, because older releases computed
 * other last bits. Source: model 3.5.
 */
export function resetToInitial(state: State): State {
  const initial = createState({
    modeStrengths: [...state.subarray(OFFSET.home, OFFSET.home + MODE_COUNT)],
    energyLevel: at(state, OFFSET.initialEnergy),
  });
  initial[OFFSET.stressRate] = at(state, OFFSET.stressRate);
  return initial;
}

/** A new state at cycle 0 from `state`'s rollback point. Source: model 3.5. */
export function resetToDefault(state: State): State {
  const next = state.slice();
  rollBack(next);
  next[OFFSET.stress] = at(state, OFFSET.savedStress);
  next[OFFSET.load] = at(state, OFFSET.savedLoad);
  next[OFFSET.energy] = at(state, OFFSET.savedEnergy);
  next[OFFSET.unrest] = at(state, OFFSET.savedUnrest);
  next[OFFSET.stressLevel] = at(state, OFFSET.savedStressLevel);
  next[OFFSET.energyBand] = at(state, OFFSET.savedEnergyBand);
  next[OFFSET.cycle] = 0;
  next.fill(0, OFFSET.driftLevel, STATE_LENGTH);
  saveRollbackPoint(next);
  return next;
}

/** Stress states in ascending order. Source: interface 2.3. */
export const STRESS_STATES = ['LOW', 'MED', 'HIGH', 'OVER'] as const;
/** A stress state. */
export type StressState = (typeof STRESS_STATES)[number];

/** Stress at which each level is entered. Source: model 2.4. */
const STRESS_ENTER = Float64Array.of(0, 0.35, 0.58, 0.8);
/** Stress below which each level is left. Source: model 2.4. */
const STRESS_LEAVE = Float64Array.of(0, 0.25, 0.47, 0.68);

/** Energy at which bands 1 to 3 begin (EMPTY, LOW, REDUCED, FULL). Source: model 2.5. */
const ENERGY_ENTER = Float64Array.of(0, 0.15, 0.3, 0.5);

/** Energy above a band's threshold that is needed to enter the band. Source: model 2.5. */
const ENERGY_HYSTERESIS = 0.03;

const TOP = 3;

/**
 * Stress level, 0..3, for acute stress `stress`, coming from `level`.
 *
 * Hysteresis: the leave threshold is well below the entry threshold, so noise around a threshold
 * causes at most one switch.
 */
export function stressLevelAfter(stress: number, level: number): number {
  let next = level;
  while (next < TOP && stress >= at(STRESS_ENTER, next + 1)) next++;
  while (next > 0 && stress < at(STRESS_LEAVE, next)) next--;
  return next;
}

/** Energy band, 0..3, for `energy`, coming from `band`. Source: model 2.5. */
export function energyBandAfter(energy: number, band: number): number {
  let next = band;
  while (next < TOP && energy >= at(ENERGY_ENTER, next + 1) + ENERGY_HYSTERESIS) next++;
  while (next > 0 && energy < at(ENERGY_ENTER, next)) next--;
  return next;
}

/** Energy band, 0..3, for a new identity, without hysteresis. Source: model 1. */
export function bandOf(energy: number): number {
  let band = TOP;
  while (band > 0 && energy < at(ENERGY_ENTER, band)) band--;
  return band;
}

/**
 * Element `index` in `vector`, which must exist. Compiles to a plain load.
 *
 * Vectors have fixed lengths, and indexes come from bounded loops or the state layout. Therefore
 * the type assertion is safe, and this function is its only location.
 */
export function at(vector: Float64Array, index: number): number {
  return vector[index] as number;
}

/** `value` limited to [`low`, `high`]. */
export function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
