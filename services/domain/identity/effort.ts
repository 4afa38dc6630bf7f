import { STRESS_RESPONSE } from '#identity/modes';
import { at, clamp } from '#identity/numbers';
import { OFFSET, type State } from '#identity/state';

/** Effects of acting in a mode on stress and energy, per mode. Source: model 2.4. */
const STRAIN = Float64Array.of(0.03, 0.08, 0.03, 0.12, 0.02, 0.02, 0);
const RELIEF = Float64Array.of(0.05, 0.02, 0.15, 0.02, 0.3, 0.2, 0);
const COST = Float64Array.of(0.015, 0.04, 0.025, 0.05, 0.015, 0.012, 0.06);
const RESTORE = Float64Array.of(0.01, 0, 0, 0, 0.03, 0.02, 0);

/** Factor of the gain for a direct reading of stress. Source: model 2.4. */
const STRESS_READING = 1.25;

/**
 * Effort of acting out of character: its size, the departure (SD) where it starts, and the range
 * (SD) to its maximum. Source: model 2.4.
 */
const OUT_OF_CHARACTER = 0.15;
const IN_CHARACTER_SD = 1;
const OUT_OF_CHARACTER_RANGE_SD = 3;

/** Reactivity by the set-point of stress response. Source: model 2.4. */
const REACTIVITY_BASE = 0.75;
const REACTIVITY_SLOPE = 0.5;
const REACTIVITY_MIN = 0.5;
const REACTIVITY_MAX = 1.5;

/** Bounds of the person-environment fit: a habitual demand strains less. Source: model 2.4. */
const FIT_MIN = 0.25;
const FIT_MAX = 1.25;

/** Rate at which the allostatic load follows acute stress, per cycle. Source: model 2.6. */
const LOAD_PACE = 0.01;

/** Share of the out-of-character effort that is paid in energy. Source: model 2.5. */
const EFFORT_COST = 0.5;

/** Strength of the reaction to demands, from the learnt stress response. */
function reactivityOf(state: State): number {
  const disposition = at(state, OFFSET.setPoint + STRESS_RESPONSE);
  return clamp(REACTIVITY_BASE + REACTIVITY_SLOPE * disposition, REACTIVITY_MIN, REACTIVITY_MAX);
}

/**
 * Effort of a reading `departure` standard deviations out of character, [0, 0.09]. Source: model
 * 2.4.
 *
 * A reading of stress itself causes no effort.
 */
export function effortOf(state: State, mode: number, gain: number, departure: number): number {
  if (mode === STRESS_RESPONSE) return 0;
  const excess = (Math.abs(departure) - IN_CHARACTER_SD) / OUT_OF_CHARACTER_RANGE_SD;
  return OUT_OF_CHARACTER * reactivityOf(state) * gain * clamp(excess, 0, 1);
}

/**
 * Updates acute stress, then the allostatic load. Source: model 2.4.
 *
 * A reading of stress moves stress towards the reading. A reading of another mode adds strain by
 * its demand and removes stress by its relief. Call `learn` first: the set-point must include the
 * reading.
 */
export function bearStress(
  state: State,
  mode: number,
  signal: number,
  gain: number,
  effort: number,
): void {
  const stress = at(state, OFFSET.stress);
  let next: number;
  if (mode === STRESS_RESPONSE) {
    next = stress + STRESS_READING * gain * (signal - stress);
  } else {
    const fit = clamp(FIT_MAX - at(state, OFFSET.setPoint + mode), FIT_MIN, FIT_MAX);
    const drive = gain * signal;
    const push = drive * at(STRAIN, mode) * reactivityOf(state) * fit;
    const ease = drive * at(RELIEF, mode);
    next = stress + push * (1 - stress) - ease * stress + effort * (1 - stress);
  }
  next = clamp(next, 0, 1);
  const load = at(state, OFFSET.load);
  state[OFFSET.stress] = next;
  state[OFFSET.load] = load + LOAD_PACE * (next - load);
}

/**
 * Spends energy in proportion to the energy left, more under stress. Modes that restore energy add
 * some. Call `bearStress` first: stress must include the reading. Source: model 2.5.
 */
export function spendEnergy(
  state: State,
  mode: number,
  signal: number,
  gain: number,
  effort: number,
): void {
  const energy = at(state, OFFSET.energy);
  const resting = at(state, OFFSET.restingEnergy);
  const drive = gain * signal;
  const spent = drive * at(COST, mode) * (1 + at(state, OFFSET.stress)) + EFFORT_COST * effort;
  const restored = drive * at(RESTORE, mode) * Math.max(0, resting - energy);
  state[OFFSET.energy] = clamp(energy * (1 - spent) + restored, 0, resting);
}
