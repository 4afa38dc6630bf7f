import { IDENTITY_BREACH, stabilityOf } from '#identity/drift';
import { MODE_COUNT } from '#identity/modes';
import { newRanking, place, type Ranking, rankDominant, rankSuppressed } from '#identity/ranking';
import { at, clamp, OFFSET, type State } from '#identity/state';

/** A state's reported values. Source: interface 2.5. */
export type Snapshot = {
  cycle: number;
  /** Seven strengths in mode order: the tendencies limited to [0, 1]. */
  readonly strengths: Float64Array;
  /** Energy, in [0, 1]. */
  energy: number;
  /** Position in `STRESS_STATES`. */
  stressLevel: number;
  /** Stability, in (0, 1]. */
  stability: number;
};

/** A reusable, empty snapshot for `readSnapshot`. */
export function newSnapshot(): Snapshot {
  return {
    cycle: 0,
    strengths: new Float64Array(MODE_COUNT),
    energy: 0,
    stressLevel: 0,
    stability: 1,
  };
}

/** Fills `into` with `state`'s reported values. Source: model 1. */
export function readSnapshot(state: State, into: Snapshot): void {
  for (let mode = 0; mode < MODE_COUNT; mode++) {
    into.strengths[mode] = clamp(at(state, OFFSET.tendency + mode), 0, 1);
  }
  into.cycle = at(state, OFFSET.cycle);
  into.energy = at(state, OFFSET.energy);
  into.stressLevel = at(state, OFFSET.stressLevel);
  into.stability = stabilityOf(at(state, OFFSET.unrest));
}

/** Recovery paths, in tie-break order: the earlier path wins. Source: model 4. */
export const RECOVERY_PATHS = [
  'none',
  'rest',
  'disengagement',
  'structuring',
  'support_seeking',
  'reappraisal',
  'problem_solving',
] as const;
/** A recovery path. */
export type RecoveryPath = (typeof RECOVERY_PATHS)[number];

const NONE = 0;
const REST = 1;
const DISENGAGEMENT = 2;
const STRUCTURING = 3;
const SUPPORT_SEEKING = 4;
const REAPPRAISAL = 5;
const PROBLEM_SOLVING = 6;

/** Minimum strength of a coping style. Weaker styles give the path `rest`. Source: model 4. */
const COPING_MIN = 0.2;

/** Allostatic load at which high stress requires support. Source: model 4. */
const SUPPORT_LOAD = 0.4;

const LOW_STRESS = 0;
const HIGH_STRESS = 2;
const OVER_STRESS = 3;
const LOW_ENERGY = 1;
const FULL_ENERGY = 3;

/**
 * Coping path for a set-point: seven values in `setPoint`, starting at `offset`. Source: model 4.
 */
export function copingPathOf(setPoint: Float64Array, offset: number): number {
  const of = (mode: number) => clamp(at(setPoint, offset + mode), 0, 1);
  let path = STRUCTURING;
  let strongest = of(2);
  const support = of(4);
  if (support > strongest) {
    path = SUPPORT_SEEKING;
    strongest = support;
  }
  const reappraisal = (of(0) + of(5)) / 2;
  if (reappraisal > strongest) {
    path = REAPPRAISAL;
    strongest = reappraisal;
  }
  const solving = (of(3) + of(1)) / 2;
  if (solving > strongest) {
    path = PROBLEM_SOLVING;
    strongest = solving;
  }
  return strongest < COPING_MIN ? REST : path;
}

/**
 * Recovery path for a stress level and energy band; `setPoint` as in `copingPathOf`. Source:
 * model 4.
 */
function recoveryPathOf(
  stressLevel: number,
  energyBand: number,
  setPoint: Float64Array,
  offset: number,
): number {
  if (energyBand <= LOW_ENERGY) return REST;
  if (stressLevel === OVER_STRESS) return DISENGAGEMENT;
  if (stressLevel === LOW_STRESS) return energyBand === FULL_ENERGY ? NONE : REST;
  return copingPathOf(setPoint, offset);
}

/** Whether the identity needs support against stress. Source: model 4. */
function isSupportRequired(stressLevel: number, energyBand: number, load: number): boolean {
  if (stressLevel === OVER_STRESS) return true;
  return stressLevel === HIGH_STRESS && (load >= SUPPORT_LOAD || energyBand <= LOW_ENERGY);
}

/** Whether work should pause: overload, exhaustion, or a rolled-back breach. Source: model 4. */
function isCooldownRequired(stressLevel: number, energyBand: number, isBreached: boolean): boolean {
  if (isBreached || stressLevel === OVER_STRESS || energyBand === 0) return true;
  return stressLevel === HIGH_STRESS && energyBand <= LOW_ENERGY;
}

/** Execution contract. Numbers are positions in the name tables. Source: interface 2.6. */
export type Contract = {
  /** Dominant modes, strongest first. */
  readonly dominant: Ranking;
  /** Suppressed modes, in mode order. */
  readonly suppressed: Ranking;
  /** Allowed actions. Model 1.0 lists the strongest propensity first. */
  readonly allowed: Ranking;
  /** Forbidden actions. Model 1.0 lists the weakest propensity first. */
  readonly forbidden: Ranking;
  readonly style: DecisionStyle;
  /** Position in `RECOVERY_PATHS`. */
  path: number;
  isSupportRequired: boolean;
  isCooldownRequired: boolean;
};

/** A reusable, empty contract for `readContract`. */
export function newContract(): Contract {
  return {
    dominant: newRanking(MODE_COUNT),
    suppressed: newRanking(MODE_COUNT),
    allowed: newRanking(ACTIONS.length),
    forbidden: newRanking(ACTIONS.length),
    style: { tempo: 0, risk: 0, expressiveness: 0, commitment: 0 },
    path: 0,
    isSupportRequired: false,
    isCooldownRequired: false,
  };
}

/**
 * Writes `state`'s permitted behaviour to `into`. `snapshot` must be read from `state`. Source:
 * model 4.
 */
export function readContract(state: State, snapshot: Snapshot, into: Contract): void {
  readModesAndRecovery(state, snapshot, into);
  sortActions(state, snapshot, into.allowed, into.forbidden);
  readStyle(state, snapshot, into.style);
  capStyle(snapshot.stressLevel, into.style);
}

/** Writes to `into` the part of a contract that all model versions compute in the same way. */
export function readModesAndRecovery(state: State, snapshot: Snapshot, into: Contract): void {
  const { strengths, stressLevel } = snapshot;
  const band = at(state, OFFSET.energyBand);
  const isBreached = at(state, OFFSET.driftLevel) === IDENTITY_BREACH;
  rankDominant(strengths, into.dominant);
  rankSuppressed(state, into.dominant, into.suppressed);
  into.path = recoveryPathOf(stressLevel, band, state, OFFSET.setPoint);
  into.isSupportRequired = isSupportRequired(stressLevel, band, at(state, OFFSET.load));
  into.isCooldownRequired = isCooldownRequired(stressLevel, band, isBreached);
}

/** Action speed, ascending; `paused` is outside the order. Source: model 4. */
export const TEMPOS = ['slow', 'measured', 'brisk', 'rapid', 'paused'] as const;
/** Risk appetite, ascending. Source: model 4. */
export const RISKS = ['avoidant', 'cautious', 'balanced', 'bold'] as const;
/** Expressiveness, ascending. Source: model 4. */
export const EXPRESSIVENESSES = ['minimal', 'low', 'medium', 'high'] as const;
/** Evidence required before a commitment, ascending. Source: model 4. */
export const COMMITMENTS = ['low', 'medium', 'high', 'very_high'] as const;

/** Stress above which pressure affects style and actions. Source: model 4. */
const STRESS_THRESHOLD = 0.3;

/**
 * Energy above which the style becomes livelier and below which it becomes restrained. Source:
 * model 4.
 */
const ENERGY_PIVOT = 0.5;

/** Lowest scores for the second, third and fourth label. Source: model 4. */
const TEMPO_CUTS = Float64Array.of(0.25, 0.46, 0.64);
const RISK_CUTS = Float64Array.of(0.18, 0.38, 0.62);
const EXPRESSIVENESS_CUTS = Float64Array.of(0.2, 0.4, 0.62);
const COMMITMENT_CUTS = Float64Array.of(0.32, 0.52, 0.66);

const HIGH = 2;
const OVER = 3;
const PAUSED = TEMPOS.indexOf('paused');
const MEASURED = TEMPOS.indexOf('measured');
const CAUTIOUS = RISKS.indexOf('cautious');
const AVOIDANT = RISKS.indexOf('avoidant');

/** Decision style, as positions in the four lists. */
type DecisionStyle = {
  tempo: number;
  risk: number;
  expressiveness: number;
  commitment: number;
};

/**
 * Derives the style from strengths, stress, energy and stability, before a stress level caps it.
 * Source: model 4.
 */
export function readStyle(state: State, snapshot: Snapshot, into: DecisionStyle): void {
  const { strengths, energy, stability } = snapshot;
  const p = at(strengths, 0);
  const x = at(strengths, 1);
  const o = at(strengths, 2);
  const a = at(strengths, 3);
  const k = at(strengths, 4);
  const i = at(strengths, 5);
  const pressure = Math.max(0, at(state, OFFSET.stress) - STRESS_THRESHOLD);
  const tiredness = Math.max(0, ENERGY_PIVOT - energy);
  const vigour = 0.2 * (energy - ENERGY_PIVOT);
  const tempo = 0.38 + 0.35 * a + 0.25 * x - 0.25 * p - 0.15 * o + vigour - 0.3 * pressure;
  const drive = 0.45 + 0.35 * x + 0.35 * a - 0.35 * o - 0.15 * p - 0.1 * i;
  const warmth = 0.35 + 0.4 * k + 0.3 * a + 0.15 * x - 0.15 * o - 0.15 * p;
  const caution = 0.45 + 0.25 * p + 0.15 * o + 0.1 * x - 0.35 * a - 0.1 * i;
  into.tempo = stepOf(tempo, TEMPO_CUTS);
  into.risk = stepOf(drive - 0.6 * pressure - 0.4 * tiredness, RISK_CUTS);
  into.expressiveness = stepOf(warmth + vigour - 0.4 * pressure, EXPRESSIVENESS_CUTS);
  into.commitment = stepOf(caution + 0.5 * pressure + 0.3 * (1 - stability), COMMITMENT_CUTS);
}

/** Caps tempo and risk by a high stress level, whatever the strengths are. Source: model 4. */
export function capStyle(stressLevel: number, style: DecisionStyle): void {
  style.tempo = tempoUnder(stressLevel, style.tempo);
  style.risk = riskUnder(stressLevel, style.risk);
}

function tempoUnder(stressLevel: number, tempo: number): number {
  if (stressLevel === OVER) return PAUSED;
  return stressLevel === HIGH ? Math.min(tempo, MEASURED) : tempo;
}

function riskUnder(stressLevel: number, risk: number): number {
  if (stressLevel === OVER) return AVOIDANT;
  return stressLevel === HIGH ? Math.min(risk, CAUTIOUS) : risk;
}

/** Number of the three `cuts` that `score` reaches. */
function stepOf(score: number, cuts: Float64Array): number {
  if (score < at(cuts, 1)) return score < at(cuts, 0) ? 0 : 1;
  return score < at(cuts, 2) ? 2 : 3;
}

/** Actions of an identity, in the order of interface 2.3. */
export const ACTIONS = [
  'explore',
  'question',
  'elaborate',
  'suggest',
  'execute',
  'pivot',
  'challenge',
  'comfort',
  'clarify',
  'stabilize',
  'defer',
  'withdraw',
] as const;
/** An action in the vocabulary. */
export type Action = (typeof ACTIONS)[number];

/** Position of the action that is always possible. */
export const STABILIZE = ACTIONS.indexOf('stabilize');
const DEFER = ACTIONS.indexOf('defer');
const WITHDRAW = ACTIONS.indexOf('withdraw');

/** Action propensities before adding modes and stress. Source: model 4. */
const READINESS = Float64Array.of(
  ...[0.05, 0.05, 0.05, 0.05, 0, -0.05, -0.1, 0, 0.05, 0.05, 0, -0.1],
);

/** Affinity: actions (rows) to modes (columns). Source: model 4. */
const AFFINITY = Float64Array.of(
  ...[0.1, 0.8, -0.45, 0.1, 0, -0.15, -0.2],
  ...[0.6, 0.3, 0.05, -0.05, 0.15, 0, 0],
  ...[0.35, 0.2, 0.1, 0.05, 0.15, 0.15, -0.1],
  ...[0.15, 0.25, 0.15, 0.3, 0.2, 0.1, -0.1],
  ...[0, -0.1, 0.5, 0.45, -0.05, 0.15, -0.15],
  ...[0, 0.6, -0.55, 0.2, 0, -0.35, 0.1],
  ...[0.15, 0.15, 0, 0.65, -0.5, 0.25, -0.1],
  ...[0.1, -0.05, 0, -0.25, 0.75, 0.05, 0],
  ...[0.5, -0.05, 0.4, 0, 0.1, 0.1, 0.1],
  ...[0.05, -0.35, 0.4, -0.05, 0.15, 0.35, 0.4],
  ...[0.2, -0.05, 0.05, -0.55, 0.1, -0.1, 0.25],
  ...[0.05, -0.1, -0.05, -0.35, -0.5, -0.05, 0.55],
);

/** Risk, energy demand and stress bias per action. Source: model 4. */
const RISK = Float64Array.of(0.6, 0.2, 0.2, 0.3, 0.6, 0.7, 0.8, 0.15, 0.1, 0, 0.05, 0.1);
const DEMAND = Float64Array.of(0.6, 0.25, 0.4, 0.35, 0.6, 0.65, 0.7, 0.4, 0.25, 0.1, 0.05, 0.05);
const STRESS_BIAS = Float64Array.of(
  ...[-0.5, 0, -0.1, -0.1, -0.1, -0.5, -0.5, 0.1, 0.2, 0.5, 0.4, 0.5],
);

/** Maximum risk per stress level, and maximum demand per energy band. Source: model 4. */
const RISK_CEILING = Float64Array.of(1, 0.75, 0.35, 0.12);
const DEMAND_CEILING = Float64Array.of(0.2, 0.4, 0.65, 1);

/** Energy below which demanding actions lose propensity. Source: model 4. */
const TIRED_ENERGY = 0.5;

/** An action with this propensity or less contradicts the identity. Source: model 4. */
const CONTRADICTION = -0.15;

/**
 * Threshold for allowed actions: a share of the amount by which the best propensity exceeds the
 * offset.
 */
const THRESHOLD_SHARE = 0.35;
const THRESHOLD_OFFSET = 0.1;

/**
 * Propensity of each action after `weighActions`. Scratch memory: the next call of `weighActions`
 * overwrites the values.
 */
export const propensities = new Float64Array(ACTIONS.length);

/**
 * Fills `allowed` (strongest propensity first) and `forbidden` (weakest first). Source: model 4.
 *
 * The lists are disjoint, and `allowed` is never empty. The caller decides about actions in neither
 * list.
 */
function sortActions(state: State, snapshot: Snapshot, allowed: Ranking, forbidden: Ranking): void {
  const { stressLevel } = snapshot;
  const energyBand = at(state, OFFSET.energyBand);
  const threshold = weighActions(state, snapshot);
  allowed.count = 0;
  forbidden.count = 0;
  for (let action = 0; action < ACTIONS.length; action++) {
    const propensity = at(propensities, action);
    const verdict = verdictOn(action, threshold, stressLevel, energyBand);
    if (verdict === ALLOWED) place(allowed, action, propensity);
    else if (verdict === FORBIDDEN) place(forbidden, action, -propensity);
  }
  if (allowed.count === 0) place(allowed, STABILIZE, at(propensities, STABILIZE));
}

/** Verdict on an action that the caller must not do. */
export const FORBIDDEN = -1;
/** Verdict on an action that the contract leaves to the caller. */
export const OPEN = 0;
/** Verdict on an action that the caller may do. */
export const ALLOWED = 1;

/** Verdict on an action, after `weighActions` has returned `threshold`. Source: model 4. */
export function verdictOn(
  action: number,
  threshold: number,
  stressLevel: number,
  energyBand: number,
): number {
  const propensity = at(propensities, action);
  if (isAlwaysOpen(action, stressLevel, energyBand)) return ALLOWED;
  if (isGated(action, stressLevel, energyBand)) return FORBIDDEN;
  if (isContradiction(action, propensity)) return FORBIDDEN;
  return propensity >= threshold ? ALLOWED : OPEN;
}

/** Fills `propensities`, and returns the minimum propensity for allowed actions. */
export function weighActions(state: State, snapshot: Snapshot): number {
  const { strengths, stressLevel } = snapshot;
  const energyBand = at(state, OFFSET.energyBand);
  const pressure = Math.max(0, at(state, OFFSET.stress) - STRESS_THRESHOLD);
  const tiredness = Math.max(0, TIRED_ENERGY - snapshot.energy);
  let best = Number.NEGATIVE_INFINITY;
  for (let action = 0; action < ACTIONS.length; action++) {
    let propensity = at(READINESS, action);
    for (let mode = 0; mode < MODE_COUNT; mode++) {
      propensity += affinityOf(action, mode) * at(strengths, mode);
    }
    propensity += at(STRESS_BIAS, action) * pressure - at(DEMAND, action) * tiredness;
    propensities[action] = propensity;
    if (propensity > best && !isGated(action, stressLevel, energyBand)) best = propensity;
  }
  return Math.max(0, THRESHOLD_SHARE * (best - THRESHOLD_OFFSET));
}

/** Whether a stress level or an energy band forbids an action. Source: model 4. */
export function isGated(action: number, stressLevel: number, energyBand: number): boolean {
  return isTooRisky(action, stressLevel) || isTooDemanding(action, energyBand);
}

/** Whether an action's risk exceeds a stress level's limit. Source: model 4. */
export function isTooRisky(action: number, stressLevel: number): boolean {
  return at(RISK, action) > at(RISK_CEILING, stressLevel);
}

/** Whether an action's energy demand exceeds an energy band's limit. Source: model 4. */
export function isTooDemanding(action: number, energyBand: number): boolean {
  return at(DEMAND, action) > at(DEMAND_CEILING, energyBand);
}

/** Whether an action is always allowed at this stress level or energy band. Source: model 4. */
export function isAlwaysOpen(action: number, stressLevel: number, energyBand: number): boolean {
  const isCore = stressLevel >= HIGH || energyBand <= LOW_ENERGY;
  return isCore && isCoreAction(action, stressLevel);
}

/**
 * Effect of mode `mode` at strength 1 on an action's propensity; negative: inhibits. Source:
 * model 4.
 */
export function affinityOf(action: number, mode: number): number {
  return at(AFFINITY, action * MODE_COUNT + mode);
}

/** Whether an action contradicts the identity. `stabilize` never contradicts. */
function isContradiction(action: number, propensity: number): boolean {
  return propensity <= CONTRADICTION && action !== STABILIZE;
}

/** Whether an action remains allowed under high stress or at low energy. */
function isCoreAction(action: number, stressLevel: number): boolean {
  return action === STABILIZE || action === DEFER || (action === WITHDRAW && stressLevel === OVER);
}
