import { at } from '#identity/numbers';

/** Stress states in ascending order. Source: interface 2.3. */
export const STRESS_STATES = ['LOW', 'MED', 'HIGH', 'OVER'] as const;
/** A stress state. */
export type StressState = (typeof STRESS_STATES)[number];

/**
 * Stress at or above which each level is entered, and below which it is left. Source: model 2.4.
 */
const STRESS_ENTER = Float64Array.of(0, 0.35, 0.58, 0.8);
const STRESS_LEAVE = Float64Array.of(0, 0.25, 0.47, 0.68);

/** Energy at which bands 1 to 3 begin (EMPTY, LOW, REDUCED, FULL). Source: model 2.5. */
const ENERGY_ENTER = Float64Array.of(0, 0.15, 0.3, 0.5);

/** Margin above a threshold at which energy leaves a drained band. Source: model 2.5. */
const ENERGY_HYSTERESIS = 0.03;

const TOP = 3;

/**
 * Stress level, 0..3, for acute stress `stress`, coming from `level`.
 *
 * Hysteresis: the leave threshold is well below the entry threshold, so noise around a threshold
 * causes at most one switch.
 */
export function stressLevelAfter(stress: number, level: number): number {
  let next = level;
  while (next < TOP && stress >= at(STRESS_ENTER, next + 1)) next++;
  while (next > 0 && stress < at(STRESS_LEAVE, next)) next--;
  return next;
}

/** Energy band, 0..3, for `energy`, coming from `band`. Source: model 2.5. */
export function energyBandAfter(energy: number, band: number): number {
  let next = band;
  while (next < TOP && energy >= at(ENERGY_ENTER, next + 1) + ENERGY_HYSTERESIS) next++;
  while (next > 0 && energy < at(ENERGY_ENTER, next)) next--;
  return next;
}

/** Energy band, 0..3, of a fresh identity, without hysteresis. Source: model 1. */
export function bandOf(energy: number): number {
  let band = TOP;
  while (band > 0 && energy < at(ENERGY_ENTER, band)) band--;
  return band;
}
