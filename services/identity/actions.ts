import { at } from '#identity/at';
import { STRESS_THRESHOLD } from '#identity/decision-style';
import { MODE_COUNT } from '#identity/modes';
import { place, type Ranking } from '#identity/ranking';
import type { Snapshot } from '#identity/snapshot';
import { OFFSET, type State } from '#identity/state';

/** What an identity may do, in vocabulary order. Source: interface 2.3. */
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
/** One word of that vocabulary. */
export type Action = (typeof ACTIONS)[number];

const STABILIZE = ACTIONS.indexOf('stabilize');
const DEFER = ACTIONS.indexOf('defer');
const WITHDRAW = ACTIONS.indexOf('withdraw');

/** How readily each action comes to a neutral identity. Source: model 4. */
const READINESS = Float64Array.of(
  ...[0.05, 0.05, 0.05, 0.05, 0, -0.05, -0.1, 0, 0.05, 0.05, 0, -0.1],
);

/** How far each mode favours each action, row by row. Source: model 4. */
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

/** Risk and energy demand of each action, and how stress inclines to it. Source: model 4. */
const RISK = Float64Array.of(0.6, 0.2, 0.2, 0.3, 0.6, 0.7, 0.8, 0.15, 0.1, 0, 0.05, 0.1);
const DEMAND = Float64Array.of(0.6, 0.25, 0.4, 0.35, 0.6, 0.65, 0.7, 0.4, 0.25, 0.1, 0.05, 0.05);
const STRESS_BIAS = Float64Array.of(
  ...[-0.5, 0, -0.1, -0.1, -0.1, -0.5, -0.5, 0.1, 0.2, 0.5, 0.4, 0.5],
);

/** Most risk that each stress level admits, most demand that each energy band does. Model 4. */
const RISK_CEILING = Float64Array.of(1, 0.75, 0.35, 0.12);
const DEMAND_CEILING = Float64Array.of(0.2, 0.4, 0.65, 1);

/** Energy below which demanding actions lose appeal. Source: model 4. */
const TIRED_ENERGY = 0.5;

/** An action at or below this propensity contradicts the identity. Source: model 4. */
const CONTRADICTION = -0.15;

/** An action counts as allowed from this share of the best one, measured above its offset. */
const THRESHOLD_SHARE = 0.35;
const THRESHOLD_OFFSET = 0.1;

/** From this stress level, or up to this energy band, the core actions are always open. Model 4. */
const HIGH = 2;
const LOW_ENERGY = 1;

/** The highest stress level; only there is withdrawing a core action too. Source: model 4. */
const OVER = 3;

/** Written and read within one call of `sortActions`; nothing is carried to the next. */
const propensities = new Float64Array(ACTIONS.length);

/**
 * Fills `allowed` (strongest propensity first) and `forbidden` (weakest first). Disjoint; `allowed`
 * never stays empty; an action in neither list is at the caller's discretion. Source: model 4.
 */
export function sortActions(
  state: State,
  snapshot: Snapshot,
  allowed: Ranking,
  forbidden: Ranking,
): void {
  const { stressLevel } = snapshot;
  const energyBand = at(state, OFFSET.energyBand);
  const threshold = weigh(state, snapshot);
  allowed.count = 0;
  forbidden.count = 0;
  for (let action = 0; action < ACTIONS.length; action++) {
    const propensity = at(propensities, action);
    if (isAlwaysOpen(action, stressLevel, energyBand)) {
      place(allowed, action, propensity);
    } else if (isGated(action, stressLevel, energyBand) || isContradiction(action, propensity)) {
      place(forbidden, action, -propensity);
    } else if (propensity >= threshold) {
      place(allowed, action, propensity);
    }
  }
  if (allowed.count === 0) place(allowed, STABILIZE, at(propensities, STABILIZE));
}

/** Fills `propensities` and returns the propensity from which an action is allowed. */
function weigh(state: State, snapshot: Snapshot): number {
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

function isGated(action: number, stressLevel: number, energyBand: number): boolean {
  return isTooRisky(action, stressLevel) || isTooDemanding(action, energyBand);
}

/** Whether an action ventures more than a stress level permits. Source: model 4. */
export function isTooRisky(action: number, stressLevel: number): boolean {
  return at(RISK, action) > at(RISK_CEILING, stressLevel);
}

/** Whether an action takes more out of an identity than an energy band permits. Source: model 4. */
export function isTooDemanding(action: number, energyBand: number): boolean {
  return at(DEMAND, action) > at(DEMAND_CEILING, energyBand);
}

/** Whether an action is open whatever else holds, under high stress or with little energy. Model 4. */
export function isAlwaysOpen(action: number, stressLevel: number, energyBand: number): boolean {
  const isCore = stressLevel >= HIGH || energyBand <= LOW_ENERGY;
  return isCore && isCoreAction(action, stressLevel);
}

/** How far a mode of strength 1 inclines to an action, or against it. Source: model 4. */
export function affinityOf(action: number, mode: number): number {
  return at(AFFINITY, action * MODE_COUNT + mode);
}

/** An identity may always stabilize, whatever its character says. */
function isContradiction(action: number, propensity: number): boolean {
  return propensity <= CONTRADICTION && action !== STABILIZE;
}

/** What stays open to an identity under high stress or with little energy. */
function isCoreAction(action: number, stressLevel: number): boolean {
  return action === STABILIZE || action === DEFER || (action === WITHDRAW && stressLevel === OVER);
}
