import { classifyDrift, IDENTITY_BREACH, stabilityOf, WITHIN_BAND } from '#identity/drift';
import { bearStress, effortOf, spendEnergy } from '#identity/effort';
import { flow } from '#identity/flow';
import {
  attentionTo,
  DRIFT_LIMIT,
  departureOf,
  engagementAt,
  gainOf,
  gatherEvidence,
  learn,
} from '#identity/learning';
import { at } from '#identity/numbers';
import { OFFSET, rollBack, type State, saveRollbackPoint } from '#identity/state';
import { energyBandAfter, stressLevelAfter } from '#identity/stress';

/** A noisy reading of one mode. */
export type Observation = {
  /** Position in mode order, 0..6. */
  mode: number;
  /** Observed value, [0, 1]. */
  signal: number;
  /** Certainty of the reading, [0, 1]. A reading of certainty 0 carries no information. */
  confidence: number;
};

/** Minimum time between two observations of an instance, in ms. Interface 8.3, decision 8. */
export const CYCLE_INTERVAL_MS_MIN = 1_000;

/** Time a cycle itself takes, in seconds: a batch without timestamps recovers too (model 2.1). */
export const CYCLE_SECONDS = 30;

/**
 * Limits of a state that may become a rollback point. The band limit is the median of the
 * statistic.
 */
const ROLLBACK_POINT_BAND_MAX = 6.3458;
const ROLLBACK_POINT_EVIDENCE_MAX = DRIFT_LIMIT / 2;
const ROLLBACK_POINT_STRESS_LEVEL_MAX = 1;
const ROLLBACK_POINT_ENERGY_MIN = 0.2;
const ROLLBACK_POINT_STABILITY_MIN = 0.6;

/**
 * One cycle of the model: lets `dtSeconds` pass, then reads `observation`, and writes the new state
 * to `into`. Source: model 2.1.
 *
 * A negative `dtSeconds` counts as 0. Pure: equal arguments give bit-identical results. `from` is
 * not changed, unless `into` is the same array, which is allowed.
 */
export function advance(
  from: State,
  observation: Observation,
  dtSeconds: number,
  into: State,
): void {
  const { mode, signal, confidence } = observation;
  flow(from, Math.max(0, dtSeconds) + CYCLE_SECONDS, into);
  const gain = gainOf(confidence);
  const felt = gainOf(
    confidence * engagementAt(at(into, OFFSET.energy)) * attentionTo(mode, at(into, OFFSET.stress)),
  );
  const departure = departureOf(into, mode, signal);
  gatherEvidence(into, mode, gain, departure);
  learn(into, mode, signal, gain, felt);
  const effort = effortOf(into, mode, gain, departure);
  bearStress(into, mode, signal, gain, effort);
  spendEnergy(into, mode, signal, gain, effort);
  const bandStatistic = classifyDrift(into, confidence > 0);
  if (at(into, OFFSET.driftLevel) === IDENTITY_BREACH) rollBack(into);
  stepLevels(into);
  into[OFFSET.cycle] = at(into, OFFSET.cycle) + 1;
  if (isStable(into, bandStatistic)) saveRollbackPoint(into);
}

/**
 * Moves the discrete levels, once per cycle. They do not move while time passes. Source: model 2.2.
 */
function stepLevels(state: State): void {
  state[OFFSET.stressLevel] = stressLevelAfter(
    at(state, OFFSET.stress),
    at(state, OFFSET.stressLevel),
  );
  state[OFFSET.energyBand] = energyBandAfter(
    at(state, OFFSET.energy),
    at(state, OFFSET.energyBand),
  );
}

/** Whether the state after this cycle qualifies as a rollback point. Source: model 3.5. */
function isStable(state: State, bandStatistic: number): boolean {
  return (
    at(state, OFFSET.driftLevel) === WITHIN_BAND &&
    bandStatistic <= ROLLBACK_POINT_BAND_MAX &&
    at(state, OFFSET.foundStatistic) < ROLLBACK_POINT_EVIDENCE_MAX &&
    at(state, OFFSET.stressLevel) <= ROLLBACK_POINT_STRESS_LEVEL_MAX &&
    at(state, OFFSET.energy) >= ROLLBACK_POINT_ENERGY_MIN &&
    stabilityOf(at(state, OFFSET.unrest)) >= ROLLBACK_POINT_STABILITY_MIN
  );
}
