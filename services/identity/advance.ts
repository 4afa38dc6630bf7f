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
  /** What was read, [0, 1]. */
  signal: number;
  /** How certain the reading is, [0, 1]; at 0 it says nothing. */
  confidence: number;
};

/** Shortest time between two observations of one instance, in ms. Source: interface 8.3, decision 8. */
export const CYCLE_INTERVAL_MS_MIN = 1_000;

/** Time a cycle itself takes, in seconds: a batch without timestamps recovers too (model 2.1). */
export const CYCLE_SECONDS = 30;

/** What a state must keep to, to become a rollback point: the median of the band, and some reserve. */
const ROLLBACK_POINT_BAND_MAX = 6.3458;
const ROLLBACK_POINT_EVIDENCE_MAX = DRIFT_LIMIT / 2;
const ROLLBACK_POINT_STRESS_LEVEL_MAX = 1;
const ROLLBACK_POINT_ENERGY_MIN = 0.2;
const ROLLBACK_POINT_STABILITY_MIN = 0.6;

/**
 * One cycle of the model: writes to `into` what `from` becomes when `dtSeconds` pass and
 * `observation` is then read. A negative `dtSeconds` counts as 0. Pure: the same arguments give the
 * same bits, and `from` is only read, unless it is `into`, which is allowed. Source: model 2.1.
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

/** Discrete levels move once per cycle and never while time passes. Source: model 2.2. */
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

/** Whether this cycle is one to come back to. Source: model 3.5. */
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
