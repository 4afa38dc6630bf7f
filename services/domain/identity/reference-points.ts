import { MODE_COUNT } from '#identity/modes';
import { at, clamp } from '#identity/numbers';
import { OFFSET, type State } from '#identity/state';

/** Strengths with which the modes of a state are compared, in mode order, limited to [0, 1]. */
export type ReferencePoints = {
  /** The slowly learning home, from which departures are measured. Source: model 1. */
  readonly setPoint: readonly number[];
  /** The modes of the rollback point, to which the reset `default` returns. Source: model 3.5. */
  readonly lastStable: readonly number[];
};

/** Reads the reference points of a state. */
export function readReferencePoints(state: State): ReferencePoints {
  const strengthsAt = (offset: number) =>
    Array.from({ length: MODE_COUNT }, (_, mode) => clamp(at(state, offset + mode), 0, 1));
  return {
    setPoint: strengthsAt(OFFSET.setPoint),
    lastStable: strengthsAt(OFFSET.savedTendency),
  };
}
