import { stabilityOf } from '#identity/drift';
import { MODE_COUNT } from '#identity/modes';
import { at, clamp } from '#identity/numbers';
import { OFFSET, type State } from '#identity/state';

/** Reported values of a state. Source: interface 2.5. */
export type Snapshot = {
  cycle: number;
  /** Seven strengths in mode order: the tendencies limited to [0, 1]. */
  readonly strengths: Float64Array;
  /** [0, 1]. */
  energy: number;
  /** Position in `STRESS_STATES`. */
  stressLevel: number;
  /** (0, 1]. */
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

/** Fills `into` with the reported values of `state`. Source: model 1. */
export function readSnapshot(state: State, into: Snapshot): void {
  for (let mode = 0; mode < MODE_COUNT; mode++) {
    into.strengths[mode] = clamp(at(state, OFFSET.tendency + mode), 0, 1);
  }
  into.cycle = at(state, OFFSET.cycle);
  into.energy = at(state, OFFSET.energy);
  into.stressLevel = at(state, OFFSET.stressLevel);
  into.stability = stabilityOf(at(state, OFFSET.unrest));
}
