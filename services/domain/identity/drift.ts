import { CORRELATION_INVERSE, quadraticShares, SIGMA } from '#identity/covariance';
import { DRIFT_LIMIT, uncertaintyOf } from '#identity/learning';
import { MODE_COUNT, STRESS_RESPONSE } from '#identity/modes';
import { at } from '#identity/numbers';
import { OFFSET, type State } from '#identity/state';

/** Drift levels in ascending order. */
export const DRIFT_LEVELS = ['D0', 'D1', 'D2', 'D3'] as const;

/** Position of the lowest level in `DRIFT_LEVELS`: no departure. Source: model 3.4. */
export const WITHIN_BAND = 0;
const SITUATIONAL_DEPARTURE = 1;
const SUSTAINED_SHIFT = 2;
/** Position of the level that causes a rollback. Source: model 3.4. */
export const IDENTITY_BREACH = 3;

/** Variance of the filtered state relative to that of momentary states. Source: model 3.1. */
const FILTER_VARIANCE = 0.2;

/** Limit of the band statistic, chi-square with 7 degrees of freedom, 95 %. Source: model 3.1. */
export const BAND_LIMIT = 14.0671;

/** Limit of a single departure, 5 % over seven modes, two-sided. Source: model 3.1. */
const SINGLE_LIMIT = 2.6901;

/** Informative cycles outside the band after which a departure counts as lasting. Model 3.2. */
const RUN_LIMIT = 8;

/** Breach limits, chi-square with 6 degrees of freedom, 95 % and, once lasting, 90 %: model 3.4. */
const BREACH_LIMIT = 12.5916;
const LASTING_BREACH_LIMIT = 10.6446;

/** Share of each cycle's statistic that enters the stability memory. Source: model 3.5. */
const UNREST_PACE = 0.15;

/** Scratch memory. The report needs the shares; the classification ignores them. */
const unusedShares = new Float64Array(MODE_COUNT);
const departures = new Float64Array(MODE_COUNT);

/**
 * Squared distance of the six identity-bearing modes, given the stress response. Source: model 3.3.
 */
export function breachOf(bandStatistic: number, stressDeparture: number): number {
  return FILTER_VARIANCE * Math.max(0, bandStatistic - stressDeparture * stressDeparture);
}

/** Writes the departures of the state from its set-point, and returns the band statistic. */
function measureDepartures(state: State): number {
  for (let mode = 0; mode < MODE_COUNT; mode++) {
    const variance = FILTER_VARIANCE * uncertaintyOf(at(state, OFFSET.evidence + mode));
    const away = at(state, OFFSET.tendency + mode) - at(state, OFFSET.setPoint + mode);
    const departure = away / (at(SIGMA, mode) * Math.sqrt(variance));
    departures[mode] = departure;
    state[OFFSET.departure + mode] = departure;
  }
  return quadraticShares(CORRELATION_INVERSE, departures, unusedShares);
}

function isOutside(bandStatistic: number): boolean {
  if (bandStatistic >= BAND_LIMIT) return true;
  for (let mode = 0; mode < MODE_COUNT; mode++) {
    if (Math.abs(at(departures, mode)) >= SINGLE_LIMIT) return true;
  }
  return false;
}

/** Writes the largest drift evidence, its direction, and the modes at the limit to the state. */
function noteEvidence(state: State): void {
  let largest = 0;
  let direction = 0;
  let sustained = 0;
  for (let mode = 0; mode < MODE_COUNT; mode++) {
    const risen = at(state, OFFSET.risen + mode);
    const fallen = at(state, OFFSET.fallen + mode);
    if (risen > largest) {
      largest = risen;
      direction = mode + 1;
    }
    if (fallen > largest) {
      largest = fallen;
      direction = -(mode + 1);
    }
    if (risen >= DRIFT_LIMIT || fallen >= DRIFT_LIMIT) sustained |= 1 << mode;
  }
  state[OFFSET.foundStatistic] = largest;
  state[OFFSET.foundDirection] = direction;
  state[OFFSET.foundSustained] = sustained;
}

/**
 * Classifies the state after this cycle. Source: model 3.1 to 3.5.
 *
 * Writes the findings, the run, the stability memory and the drift level, and returns the band
 * statistic. `isInformative` is false for a reading of certainty 0, which must not prolong a run.
 */
export function classifyDrift(state: State, isInformative: boolean): number {
  const bandStatistic = measureDepartures(state);
  noteEvidence(state);
  const isOut = isOutside(bandStatistic);
  const run = isOut ? at(state, OFFSET.run) + (isInformative ? 1 : 0) : 0;
  const sustained = at(state, OFFSET.foundSustained);
  const breach = breachOf(bandStatistic, at(departures, STRESS_RESPONSE));
  const isLong = run >= RUN_LIMIT;
  const isIdentityMoved = (sustained & ~(1 << STRESS_RESPONSE)) !== 0 || isLong;
  let level = isOut ? SITUATIONAL_DEPARTURE : WITHIN_BAND;
  if (sustained !== 0 || isLong) level = SUSTAINED_SHIFT;
  if (breach >= BREACH_LIMIT || (isIdentityMoved && breach >= LASTING_BREACH_LIMIT)) {
    level = IDENTITY_BREACH;
  }
  const unrest = at(state, OFFSET.unrest);
  state[OFFSET.unrest] = unrest + UNREST_PACE * (bandStatistic - unrest);
  state[OFFSET.run] = run;
  state[OFFSET.foundRun] = run;
  state[OFFSET.driftLevel] = level;
  return bandStatistic;
}

/** Stability of an identity with stability memory `unrest`: 1 at rest, 0.5 at the band limit. */
export function stabilityOf(unrest: number): number {
  return 1 / (1 + unrest / BAND_LIMIT);
}
