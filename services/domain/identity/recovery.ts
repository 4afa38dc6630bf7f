import { at, clamp } from '#identity/numbers';

/** Recovery paths. On ties, the earlier path wins. Source: model 4. */
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

/** Minimum strength of a coping style. Below, the path is `rest`. Source: model 4. */
const COPING_MIN = 0.2;

/** Allostatic load from which high stress requires support. Source: model 4. */
const SUPPORT_LOAD = 0.4;

const LOW_STRESS = 0;
const HIGH_STRESS = 2;
const OVER_STRESS = 3;
const LOW_ENERGY = 1;
const FULL_ENERGY = 3;

/** Coping path of a set-point. `setPoint` holds seven values from `offset` on. Source: model 4. */
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
 * Recovery path at a stress level and energy band. `setPoint` as in `copingPathOf`. Source: model
 * 4.
 */
export function recoveryPathOf(
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

/** Whether the identity needs support with its stress. Source: model 4. */
export function isSupportRequired(stressLevel: number, energyBand: number, load: number): boolean {
  if (stressLevel === OVER_STRESS) return true;
  return stressLevel === HIGH_STRESS && (load >= SUPPORT_LOAD || energyBand <= LOW_ENERGY);
}

/**
 * Whether work should pause: overload, exhaustion, or a breach that was rolled back. Source: model
 * 4.
 */
export function isCooldownRequired(
  stressLevel: number,
  energyBand: number,
  isBreached: boolean,
): boolean {
  if (isBreached || stressLevel === OVER_STRESS || energyBand === 0) return true;
  return stressLevel === HIGH_STRESS && energyBand <= LOW_ENERGY;
}
