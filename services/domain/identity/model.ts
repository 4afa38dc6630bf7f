import { readModesAndRecovery } from '#identity/contract';
import {
  MODEL_1_1_VERSION,
  memorySince,
  readMemory,
  STATE_LENGTH_1_1,
  updateMemory,
  withMemory,
} from '#identity/contract-hysteresis';
import {
  attentionTo,
  classifyDrift,
  DRIFT_LIMIT,
  departureOf,
  engagementAt,
  gainOf,
  gatherEvidence,
  IDENTITY_BREACH,
  learn,
  stabilityOf,
  WITHIN_BAND,
} from '#identity/drift';
import { MODE_COUNT, STRESS_RESPONSE } from '#identity/modes';
import { type Report, readReport, reportReader } from '#identity/report';
import {
  at,
  clamp,
  createState,
  energyBandAfter,
  type InitialConfig,
  MODEL_VERSION,
  OFFSET,
  resetToDefault,
  resetToInitial,
  rollBack,
  STATE_LENGTH,
  type State,
  saveRollbackPoint,
  stressLevelAfter,
} from '#identity/state';

/** A noisy reading for one mode. */
export type Observation = {
  /** Position in mode order, 0..6. */
  mode: number;
  /** Observed value, [0, 1]. */
  signal: number;
  /** The reading's certainty, [0, 1]. A reading with certainty 0 carries no information. */
  confidence: number;
};

/** Minimum time between an instance's observations, in ms. Interface 8.3, decision 8. */
export const CYCLE_INTERVAL_MS_MIN = 1_000;

/** Cycle duration, in seconds: observations without timestamps also recover (model 2.1). */
export const CYCLE_SECONDS = 30;

/** Limits for a rollback point. The band limit is the band statistic's median. */
const ROLLBACK_POINT_BAND_MAX = 6.3458;
const ROLLBACK_POINT_EVIDENCE_MAX = DRIFT_LIMIT / 2;
const ROLLBACK_POINT_STRESS_LEVEL_MAX = 1;
const ROLLBACK_POINT_ENERGY_MIN = 0.2;
const ROLLBACK_POINT_STABILITY_MIN = 0.6;

/**
 * Runs one model cycle. Lets `dtSeconds` pass, applies `observation`, and writes the new state to
 * `into`. Source: model 2.1.
 *
 * A negative `dtSeconds` counts as 0. Pure: equal arguments give bit-identical results. `from`
 * stays unchanged, unless `into` is the same array, which is allowed.
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
 * Updates the discrete levels, once per cycle. Passing time does not change them. Source:
 * model 2.2.
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

/** Half-lives for decaying quantities, in seconds. Source: model 2.6. */
const TENDENCY_HALF_LIFE_SECONDS = 600;
const ENERGY_HALF_LIFE_SECONDS = 2_400;
const DRIFT_EVIDENCE_HALF_LIFE_SECONDS = 3_600;
const LOAD_HALF_LIFE_SECONDS = 43_200;
const SET_POINT_HALF_LIFE_SECONDS = 1_209_600;

/** Decay rates per second. The stability memory decays as fast as the tendencies (model 2.6). */
const TENDENCY_RATE = Math.LN2 / TENDENCY_HALF_LIFE_SECONDS;
const ENERGY_RATE = Math.LN2 / ENERGY_HALF_LIFE_SECONDS;
const DRIFT_EVIDENCE_RATE = Math.LN2 / DRIFT_EVIDENCE_HALF_LIFE_SECONDS;
const LOAD_RATE = Math.LN2 / LOAD_HALF_LIFE_SECONDS;
const SET_POINT_RATE = Math.LN2 / SET_POINT_HALF_LIFE_SECONDS;

/** Allostatic load share to which acute stress decays. Source: model 2.6. */
const RESIDUE_SHARE = 0.25;

/** Resting energy reduction at full stress. Source: model 2.6. */
const STRESS_ON_REST = 0.4;

/**
 * Coupled decay coefficient: tendencies follow a set-point that itself decays. Source: model 2.2.
 */
const CHASE = TENDENCY_RATE / (TENDENCY_RATE - SET_POINT_RATE);

/**
 * Lets `seconds` pass without an observation, and writes the new state to `into`. Source:
 * model 2.2.
 *
 * Solves the linear flow exactly, so splitting an interval does not change the end state. Levels,
 * bands, counters and the rollback point stay unchanged. `into` may be `from`.
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
  // The exact values are within these bounds. The clamp only removes rounding errors.
  state[OFFSET.energy] = clamp(rested - STRESS_ON_REST * ENERGY_RATE * burden, 0, resting);
  state[OFFSET.stress] = clamp(acute * stressLeft + carried * loadLeft, 0, 1);
  state[OFFSET.load] = load * loadLeft;
}

/** Effects on stress and energy when acting in each mode. Source: model 2.4. */
const STRAIN = Float64Array.of(0.03, 0.08, 0.03, 0.12, 0.02, 0.02, 0);
const RELIEF = Float64Array.of(0.05, 0.02, 0.15, 0.02, 0.3, 0.2, 0);
const COST = Float64Array.of(0.015, 0.04, 0.025, 0.05, 0.015, 0.012, 0.06);
const RESTORE = Float64Array.of(0.01, 0, 0, 0, 0.03, 0.02, 0);

/** Gain factor for a direct stress reading. Source: model 2.4. */
const STRESS_READING = 1.25;

/**
 * Effort of acting out of character: maximum effort, departure (SD) at which effort starts, and
 * range (SD) up to the maximum. Source: model 2.4.
 */
const OUT_OF_CHARACTER = 0.15;
const IN_CHARACTER_SD = 1;
const OUT_OF_CHARACTER_RANGE_SD = 3;

/** Reactivity by the stress response set-point. Source: model 2.4. */
const REACTIVITY_BASE = 0.75;
const REACTIVITY_SLOPE = 0.5;
const REACTIVITY_MIN = 0.5;
const REACTIVITY_MAX = 1.5;

/** Bounds for the person-environment fit: a habitual demand strains less. Source: model 2.4. */
const FIT_MIN = 0.25;
const FIT_MAX = 1.25;

/** Acute stress weight in the allostatic load, per cycle. Source: model 2.6. */
const LOAD_PACE = 0.01;

/** Out-of-character effort share that costs energy. Source: model 2.5. */
const EFFORT_COST = 0.5;

/** Strength of reactions to demands, from the learned stress response. */
function reactivityOf(state: State): number {
  const disposition = at(state, OFFSET.setPoint + STRESS_RESPONSE);
  return clamp(REACTIVITY_BASE + REACTIVITY_SLOPE * disposition, REACTIVITY_MIN, REACTIVITY_MAX);
}

/**
 * Effort for a reading that departs `departure` standard deviations from character, [0, 0.09]. A
 * stress reading causes no effort. Source: model 2.4.
 */
function effortOf(state: State, mode: number, gain: number, departure: number): number {
  if (mode === STRESS_RESPONSE) return 0;
  const excess = (Math.abs(departure) - IN_CHARACTER_SD) / OUT_OF_CHARACTER_RANGE_SD;
  return OUT_OF_CHARACTER * reactivityOf(state) * gain * clamp(excess, 0, 1);
}

/**
 * Updates acute stress, then allostatic load. Source: model 2.4.
 *
 * A stress reading moves stress towards the reading. A reading in another mode adds the mode's
 * strain and subtracts its relief. Call `learn` first: the set-point must include the reading.
 */
function bearStress(
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
 * Spends energy in proportion to the remaining energy, more under stress. Restoring modes add
 * energy. Call `bearStress` first: stress must include the reading. Source: model 2.5.
 */
function spendEnergy(
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

/** Strengths to compare modes with, in mode order, limited to [0, 1]. */
type ReferencePoints = {
  /** The slowly learning set-point, from which departures are measured. Source: model 1. */
  readonly setPoint: readonly number[];
  /** Rollback point modes, restored by the reset `default`. Source: model 3.5. */
  readonly lastStable: readonly number[];
};

/** Reads a state's reference points. */
export function readReferencePoints(state: State): ReferencePoints {
  const strengthsAt = (offset: number) =>
    Array.from({ length: MODE_COUNT }, (_, mode) => clamp(at(state, offset + mode), 0, 1));
  return {
    setPoint: strengthsAt(OFFSET.setPoint),
    lastStable: strengthsAt(OFFSET.savedTendency),
  };
}

/**
 * A model version: state layout and all rules.
 *
 * A released version never changes its results, because journal replays use the version.
 */
export type Model = {
  /** Version in each head and event. */
  readonly version: string;
  /** Number of doubles in a state. */
  readonly stateLength: number;
  readonly create: (config: InitialConfig) => State;
  /** A cycle, like `advance`; `from` may be `into`. */
  readonly advance: (from: State, observation: Observation, dtSeconds: number, into: State) => void;
  readonly readReport: (state: State, into: Report, isBrief?: boolean) => void;
  readonly readReferencePoints: (state: State) => ReferencePoints;
  readonly resetToInitial: (state: State) => State;
  readonly resetToDefault: (state: State) => State;
  /**
   * Cycle of the present generation after which this version took the state over from another; 0 if
   * the generation began with this version. A replay changes the model at this cycle.
   */
  readonly sinceCycle: (state: State) => number;
  /** Migrations by source version. Each returns a new state in this version. Pure. */
  readonly takesOver: ReadonlyMap<string, (state: State) => State>;
};

/** The models in this program. */
export type Models = {
  /** Default model for new instances; an account can choose another model. */
  readonly newest: Model;
  /** Whether instances may start with a version or change to it. Replays may use every version. */
  readonly mayStart: (version: string) => boolean;
  /** Returns undefined if this program lacks the version. */
  readonly find: (version: string) => Model | undefined;
  /** All model versions, oldest first. */
  readonly versions: readonly string[];
};

/** Model catalog, oldest first. `newest` is the default for new instances. */
export function modelsOf(models: readonly Model[], newest: Model): Models {
  const byVersion = new Map(models.map((model) => [model.version, model]));
  return {
    newest,
    mayStart: (version) => byVersion.has(version),
    find: (version) => byVersion.get(version),
    versions: [...byVersion.keys()],
  };
}

/**
 * Returns the same models with fewer versions that instances may start with or change to. A version
 * is allowed only while `isKnown` accepts the version. The oldest version is always allowed.
 */
export function restrictedModels(models: Models, isKnown: (version: string) => boolean): Models {
  const [oldest = models.newest.version] = models.versions;
  const mayStart = (version: string) =>
    version === oldest || (models.mayStart(version) && isKnown(version));
  const upToNewest = models.versions.slice(0, models.versions.indexOf(models.newest.version) + 1);
  return {
    ...models,
    mayStart,
    get newest() {
      return models.find(upToNewest.findLast(mayStart) ?? oldest) ?? models.newest;
    },
  };
}

/**
 * Version of a new instance: the version that its account has chosen, otherwise the newest version.
 * The newest version also replaces a choice that instances may not start with. A chosen version
 * that this program lacks is returned unchanged.
 */
export function firstVersion(models: Models, chosen: string | undefined): string {
  const isTooNew =
    chosen !== undefined && models.find(chosen) !== undefined && !models.mayStart(chosen);
  return chosen === undefined || isTooNew ? models.newest.version : chosen;
}

/**
 * Next version for an instance with version `present`: the account's chosen version, if instances
 * may change to that version and this program can migrate from `present`. Otherwise `present`.
 */
export function nextVersion(models: Models, present: string, chosen: string | undefined): string {
  if (chosen === undefined || chosen === present || !models.mayStart(chosen)) return present;
  return models.find(chosen)?.takesOver.has(present) === true ? chosen : present;
}

/** The first model, in this folder's files. Has no migrations. */
export const MODEL_1_0: Model = {
  version: MODEL_VERSION,
  stateLength: STATE_LENGTH,
  create: createState,
  advance,
  readReport,
  readReferencePoints,
  resetToInitial,
  resetToDefault,
  sinceCycle: () => 0,
  takesOver: new Map(),
};

/** Model 1.0 with hysteresis in the lists of actions and in the decision style. Source: model 4.1. */
export const MODEL_1_1: Model = {
  ...MODEL_1_0,
  version: MODEL_1_1_VERSION,
  stateLength: STATE_LENGTH_1_1,
  create: (config) => withMemory(createState(config)),
  advance(from, observation, dtSeconds, into) {
    advance(from, observation, dtSeconds, into);
    updateMemory(into);
  },
  readReport: reportReader((state, snapshot, into) => {
    readModesAndRecovery(state, snapshot, into);
    readMemory(state, snapshot.stressLevel, into);
  }),
  resetToInitial: (state) => withMemory(resetToInitial(state)),
  resetToDefault: (state) => withMemory(resetToDefault(state)),
  sinceCycle: memorySince,
  takesOver: new Map([[MODEL_1_0.version, withMemory]]),
};

/**
 * The models in this program, oldest first, and the default for new instances. An engine uses the
 * default only if every live engine has that model. Source: decision 238.
 */
export const MODELS = modelsOf([MODEL_1_0, MODEL_1_1], MODEL_1_1);
