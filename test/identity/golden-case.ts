import { readFileSync } from 'node:fs';
import { MODEL_1_0, type Model } from '#identity/model';
import { ENERGY_DEFAULT, OFFSET, type State } from '#identity/state';
import { type StoredObservation, stepOf, strengthsOf } from '#test/support/arbitrary-identity';

/** A recorded history with all expected values. Source: model 7.2. */
export type GoldenCase = {
  id: string;
  title: string;
  config: { mode_strengths?: Record<string, number>; energy_level?: number };
  observations: StoredObservation[];
  levels: string[];
  stress_states: string[];
  final_hidden: Record<'x' | 'b' | 'n' | 'cp' | 'cm', number[]> &
    Record<'S' | 'L' | 'E' | 'V' | 'run' | 'level' | 'band' | 'checkpoint_cycle', number>;
  snapshot: Record<string, unknown>;
  contract: Record<string, unknown>;
  drift: {
    level: string;
    deviation: Record<string, unknown>;
    affected_modes: string[];
    rolled_back: boolean;
  };
};

const FILE = new URL('./identity-model-golden.json', import.meta.url);

/** Golden cases, as published with the model. */
export const GOLDEN_CASES = JSON.parse(readFileSync(FILE, 'utf8')) as readonly GoldenCase[];

const MEMORY_FILE = new URL('./contract-hysteresis-golden.json', import.meta.url);

/**
 * Memory of model 1.1 (model 4.1) after each cycle of the golden cases, by id: seven numbers that
 * hold both lists, the waiting observations and the decision style.
 */
export const GOLDEN_MEMORIES = JSON.parse(readFileSync(MEMORY_FILE, 'utf8')) as Readonly<
  Record<string, readonly (readonly number[])[]>
>;

/** Replays a golden case, and calls `seen` with the state after each cycle. */
export function live(
  golden: GoldenCase,
  seen: (state: State) => void = () => {},
  model: Model = MODEL_1_0,
): State {
  const { mode_strengths: byKey, energy_level: energyLevel = ENERGY_DEFAULT } = golden.config;
  const state = model.create({ modeStrengths: strengthsOf(byKey), energyLevel });
  for (const { observation, dtSeconds } of golden.observations.map(stepOf)) {
    model.advance(state, observation, dtSeconds, state);
    seen(state);
  }
  return state;
}

/** Offsets of a golden case's hidden values in a state. */
export const HIDDEN = {
  x: OFFSET.tendency,
  b: OFFSET.setPoint,
  n: OFFSET.evidence,
  cp: OFFSET.risen,
  cm: OFFSET.fallen,
  S: OFFSET.stress,
  L: OFFSET.load,
  E: OFFSET.energy,
  V: OFFSET.unrest,
  run: OFFSET.run,
  level: OFFSET.stressLevel,
  band: OFFSET.energyBand,
  checkpoint_cycle: OFFSET.savedCycle,
} as const satisfies Record<keyof GoldenCase['final_hidden'], number>;
