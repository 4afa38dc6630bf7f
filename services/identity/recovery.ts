import { at, clamp } from '#identity/numbers';

/** The ways back from strain, in order of preference on ties. Source: model 4. */
export const RECOVERY_PATHS = [
  'none',
  'rest',
  'disengagement',
  'structuring',
  'support_seeking',
  'reappraisal',
  'problem_solving',
] as const;
/** One of the ways back. */
export type RecoveryPath = (typeof RECOVERY_PATHS)[number];

const NONE = 0;
const REST = 1;
const DISENGAGEMENT = 2;
const STRUCTURING = 3;
const SUPPORT_SEEKING = 4;
const REAPPRAISAL = 5;
const PROBLEM_SOLVING = 6;

/** A coping style weaker than this is none: the identity rests. Source: model 4. */
const COPING_MIN = 0.2;

/** Allostatic load from which high stress calls for support. Source: model 4. */
const SUPPORT_LOAD = 0.4;

const LOW_STRESS = 0;
const HIGH_STRESS = 2;
const OVER_STRESS = 3;
const LOW_ENERGY = 1;
const FULL_ENERGY = 3;

/** The coping style that the learnt set-point, seven values, inclines to. Source: model 4. */
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

/** The preferred path at a stress level and energy band; `setPoint` as above. Source: model 4. */
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

/** Whether this identity should not be left alone with its stress. Source: model 4. */
export function isSupportRequired(stressLevel: number, energyBand: number, load: number): boolean {
  if (stressLevel === OVER_STRESS) return true;
  return stressLevel === HIGH_STRESS && (load >= SUPPORT_LOAD || energyBand <= LOW_ENERGY);
}

/** Whether work should pause: overload, exhaustion, or a breach just taken back. Model 4. */
export function isCooldownRequired(
  stressLevel: number,
  energyBand: number,
  isBreached: boolean,
): boolean {
  if (isBreached || stressLevel === OVER_STRESS || energyBand === 0) return true;
  return stressLevel === HIGH_STRESS && energyBand <= LOW_ENERGY;
}
