import { ACTIONS, sortActions } from '#identity/actions';
import { at } from '#identity/at';
import { type DecisionStyle, readStyle } from '#identity/decision-style';
import { rankDominant, rankSuppressed } from '#identity/dominance';
import { IDENTITY_BREACH } from '#identity/drift';
import { MODE_COUNT } from '#identity/modes';
import { newRanking, type Ranking } from '#identity/ranking';
import { isCooldownRequired, isSupportRequired, recoveryPathOf } from '#identity/recovery';
import type { Snapshot } from '#identity/snapshot';
import { OFFSET, type State } from '#identity/state';

/** The execution contract in positions; names come from the tables it points into. Interface 2.6. */
export type Contract = {
  /** Modes. */
  readonly dominant: Ranking;
  readonly suppressed: Ranking;
  /** Actions. */
  readonly allowed: Ranking;
  readonly forbidden: Ranking;
  readonly style: DecisionStyle;
  /** Position in `RECOVERY_PATHS`. */
  path: number;
  isSupportRequired: boolean;
  isCooldownRequired: boolean;
};

/** An empty contract for `readContract` to fill, again and again. */
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

/** Fills `into` with what an identity in `state`, seen as `snapshot`, may do. Source: model 4. */
export function readContract(state: State, snapshot: Snapshot, into: Contract): void {
  const { strengths, stressLevel } = snapshot;
  const band = at(state, OFFSET.energyBand);
  const isBreached = at(state, OFFSET.driftLevel) === IDENTITY_BREACH;
  rankDominant(strengths, into.dominant);
  rankSuppressed(state, into.dominant, into.suppressed);
  sortActions(state, snapshot, into.allowed, into.forbidden);
  readStyle(state, snapshot, into.style);
  into.path = recoveryPathOf(stressLevel, band, state, OFFSET.setPoint);
  into.isSupportRequired = isSupportRequired(stressLevel, band, at(state, OFFSET.load));
  into.isCooldownRequired = isCooldownRequired(stressLevel, band, isBreached);
}
