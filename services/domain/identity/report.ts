import {
  type Contract,
  newContract,
  newSnapshot,
  readContract,
  readSnapshot,
  type Snapshot,
} from '#identity/contract';
import {
  breachOf,
  CORRELATION_INVERSE,
  chiSquareTail,
  IDENTITY_BREACH,
  quadraticShares,
  WITHIN_BAND,
} from '#identity/drift';
import { MODE_COUNT, STRESS_RESPONSE } from '#identity/modes';
import {
  matchPersonas,
  newRanking,
  type PersonaMatch,
  place,
  type Ranking,
} from '#identity/ranking';
import { at, OFFSET, type State } from '#identity/state';

/**
 * All reported values for a state and its last cycle, as numbers and positions. Reusable, without
 * references to the state.
 */
export type Report = {
  readonly snapshot: Snapshot;
  readonly contract: Contract;
  readonly deviation: Deviation;
};

/** A reusable, empty report for `readReport`. */
export function newReport(): Report {
  return { snapshot: newSnapshot(), contract: newContract(), deviation: newDeviation() };
}

/**
 * Fills `into` from `state` without allocation, and overwrites all earlier values. A brief report of
 * a state within the band keeps the earlier values of the deviation, except its level.
 *
 * A new or reset state reports level D0 and no deviation. Source: interface 2.5 to 2.7, model 3.6,
 * 4.
 */
export const readReport = reportReader(readContract);

/**
 * Returns a function like `readReport` for another model. `readContract` reads the contracts of
 * that model.
 */
export function reportReader(
  readContract: (state: State, snapshot: Snapshot, into: Contract) => void,
): (state: State, into: Report, isBrief?: boolean) => void {
  return (state, into, isBrief = false) => {
    readSnapshot(state, into.snapshot);
    readContract(state, into.snapshot, into.contract);
    if (isBrief && at(state, OFFSET.driftLevel) === WITHIN_BAND) {
      into.deviation.level = WITHIN_BAND;
      into.deviation.isRolledBack = false;
    } else {
      readDeviation(state, into.snapshot, into.deviation);
    }
  };
}

/** Departure from which a mode is affected: 5 %, two-sided. Source: model 3.5. */
const AFFECTED_DEPARTURE = 1.96;

/**
 * The last cycle's departure from the set-point. Source: model 3.5, 3.6.
 *
 * Describes the state before a rollback, except the nearest persona and composite, which describe
 * the returned state.
 */
export type Deviation = PersonaMatch & {
  /** Position in `DRIFT_LEVELS`. */
  level: number;
  isRolledBack: boolean;
  /** Band statistic T2. */
  bandStatistic: number;
  /** Square root of the band statistic. */
  distance: number;
  /** Chi-square tail of the band statistic. */
  pValue: number;
  breach: number;
  /** Consecutive informative cycles outside the band. */
  run: number;
  /** Largest drift evidence of all modes. */
  evidence: number;
  /** Mode with the largest drift evidence; -1: no mode has drift evidence. */
  evidenceMode: number;
  /** Whether the strength of this mode has risen. */
  isEvidenceUp: boolean;
  /** Standardised departures, in mode order. */
  readonly departures: Float64Array;
  /** Shares of the departures in the band statistic, in mode order. */
  readonly contributions: Float64Array;
  /**
   * Affected modes by descending contribution; empty if and only if the state is within the band.
   */
  readonly affected: Ranking;
};

/** A reusable, empty deviation for `readDeviation`. */
function newDeviation(): Deviation {
  return {
    level: WITHIN_BAND,
    isRolledBack: false,
    bandStatistic: 0,
    distance: 0,
    pValue: 1,
    breach: 0,
    run: 0,
    evidence: 0,
    evidenceMode: -1,
    isEvidenceUp: false,
    departures: new Float64Array(MODE_COUNT),
    contributions: new Float64Array(MODE_COUNT),
    affected: newRanking(MODE_COUNT),
    nearestPersona: -1,
    composite: -1,
  };
}

/**
 * Writes the last cycle's findings to `into`. `snapshot` must be read from `state`. Source:
 * model 3.6.
 */
function readDeviation(state: State, snapshot: Snapshot, into: Deviation): void {
  const { departures } = into;
  for (let mode = 0; mode < MODE_COUNT; mode++) {
    departures[mode] = at(state, OFFSET.departure + mode);
  }
  const shares = quadraticShares(CORRELATION_INVERSE, departures, into.contributions);
  const statistic = Math.max(0, shares);
  const direction = at(state, OFFSET.foundDirection);
  into.level = at(state, OFFSET.driftLevel);
  into.isRolledBack = into.level === IDENTITY_BREACH;
  into.bandStatistic = statistic;
  into.distance = Math.sqrt(statistic);
  into.pValue = chiSquareTail(statistic);
  into.breach = breachOf(statistic, at(departures, STRESS_RESPONSE));
  into.run = at(state, OFFSET.foundRun);
  into.evidence = at(state, OFFSET.foundStatistic);
  into.evidenceMode = Math.abs(direction) - 1;
  into.isEvidenceUp = direction > 0;
  rankAffected(into, at(state, OFFSET.foundSustained));
  matchPersonas(snapshot.strengths, into);
}

/**
 * Ranks the affected modes. If no mode exceeds its limit, ranks the mode with the largest
 * departure.
 */
function rankAffected(deviation: Deviation, sustained: number): void {
  const { affected, departures, contributions } = deviation;
  affected.count = 0;
  if (deviation.level === WITHIN_BAND) return;
  let farthest = 0;
  for (let mode = 0; mode < MODE_COUNT; mode++) {
    const departure = Math.abs(at(departures, mode));
    if (departure > Math.abs(at(departures, farthest))) farthest = mode;
    if (departure >= AFFECTED_DEPARTURE || (sustained & (1 << mode)) !== 0) {
      place(affected, mode, at(contributions, mode));
    }
  }
  if (affected.count === 0) place(affected, farthest, 0);
}
