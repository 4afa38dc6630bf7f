import { MODE_COUNT } from '#identity/modes';
import { at, clamp } from '#identity/numbers';
import { OFFSET, type State } from '#identity/state';

/** Half-lives of the decaying quantities, in seconds. Source: model 2.6. */
const TENDENCY_HALF_LIFE_SECONDS = 600;
const ENERGY_HALF_LIFE_SECONDS = 2_400;
const DRIFT_EVIDENCE_HALF_LIFE_SECONDS = 3_600;
const LOAD_HALF_LIFE_SECONDS = 43_200;
const SET_POINT_HALF_LIFE_SECONDS = 1_209_600;

/**
 * Decay rates, per second. The stability memory decays at the rate of the tendencies (model 2.6).
 */
const TENDENCY_RATE = Math.LN2 / TENDENCY_HALF_LIFE_SECONDS;
const ENERGY_RATE = Math.LN2 / ENERGY_HALF_LIFE_SECONDS;
const DRIFT_EVIDENCE_RATE = Math.LN2 / DRIFT_EVIDENCE_HALF_LIFE_SECONDS;
const LOAD_RATE = Math.LN2 / LOAD_HALF_LIFE_SECONDS;
const SET_POINT_RATE = Math.LN2 / SET_POINT_HALF_LIFE_SECONDS;

/** Share of the allostatic load to which acute stress decays. Source: model 2.6. */
const RESIDUE_SHARE = 0.25;

/** Reduction of the resting level of energy at full stress. Source: model 2.6. */
const STRESS_ON_REST = 0.4;

/**
 * Coefficient of the coupled decay: tendencies follow a set-point that itself decays. Source: model
 * 2.2.
 */
const CHASE = TENDENCY_RATE / (TENDENCY_RATE - SET_POINT_RATE);

/**
 * Lets `seconds` pass without an observation, and writes the new state to `into`. Source: model
 * 2.2.
 *
 * Exact solution of the linear flow, so splitting an interval does not change its end state.
 * Levels, bands, counters and the rollback point do not move. `into` may be `from`.
 */
export function flow(from: State, seconds: number, into: State): void {
  if (into !== from) into.set(from);
  const elapsed = Math.max(0, seconds);
  relaxModes(into, elapsed);
  relaxLoads(into, elapsed);
}

function relaxModes(state: State, seconds: number): void {
  const setPointLeft = Math.exp(-SET_POINT_RATE * seconds);
  const tendencyLeft = Math.exp(-TENDENCY_RATE * seconds);
  const evidenceLeft = Math.exp(-DRIFT_EVIDENCE_RATE * seconds);
  const chased = CHASE * (setPointLeft - tendencyLeft);
  for (let mode = 0; mode < MODE_COUNT; mode++) {
    const home = at(state, OFFSET.home + mode);
    const moved = at(state, OFFSET.setPoint + mode) - home;
    const departed = at(state, OFFSET.tendency + mode) - home;
    state[OFFSET.setPoint + mode] = home + moved * setPointLeft;
    state[OFFSET.tendency + mode] = home + departed * tendencyLeft + moved * chased;
    state[OFFSET.risen + mode] = at(state, OFFSET.risen + mode) * evidenceLeft;
    state[OFFSET.fallen + mode] = at(state, OFFSET.fallen + mode) * evidenceLeft;
  }
  state[OFFSET.unrest] = at(state, OFFSET.unrest) * tendencyLeft;
}

function relaxLoads(state: State, seconds: number): void {
  const stressRate = at(state, OFFSET.stressRate);
  const stressLeft = Math.exp(-stressRate * seconds);
  const loadLeft = Math.exp(-LOAD_RATE * seconds);
  const energyLeft = Math.exp(-ENERGY_RATE * seconds);
  const load = at(state, OFFSET.load);
  const carried = (RESIDUE_SHARE * load * stressRate) / (stressRate - LOAD_RATE);
  const acute = at(state, OFFSET.stress) - carried;
  const resting = at(state, OFFSET.restingEnergy);
  const burden =
    (acute * (stressLeft - energyLeft)) / (ENERGY_RATE - stressRate) +
    (carried * (loadLeft - energyLeft)) / (ENERGY_RATE - LOAD_RATE);
  const rested = resting + (at(state, OFFSET.energy) - resting) * energyLeft;
  // The exact values lie within these bounds. The clamp only removes rounding errors.
  state[OFFSET.energy] = clamp(rested - STRESS_ON_REST * ENERGY_RATE * burden, 0, resting);
  state[OFFSET.stress] = clamp(acute * stressLeft + carried * loadLeft, 0, 1);
  state[OFFSET.load] = load * loadLeft;
}
