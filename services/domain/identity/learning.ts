import { COUPLING, SIGMA } from '#identity/covariance';
import { MODE_COUNT } from '#identity/modes';
import { at, clamp } from '#identity/numbers';
import { EVIDENCE_MAX, OFFSET, type State } from '#identity/state';

/** Noise of a fully certain reading relative to the variance of its mode. Source: model 2.6. */
const READING_NOISE = 1.5;

/** Extra variance while the set-point rests on few readings. Source: model 2.6. */
const UNCERTAINTY = 60;

/** Drift evidence at which a chart signals: one false alarm in 200 readings. Source: model 2.6. */
export const DRIFT_LIMIT = Math.log(200);

/** Maximum drift evidence. The bound lets the evidence of a lasting shift decay in finite time. */
const DRIFT_EVIDENCE_MAX = 1.25 * DRIFT_LIMIT;

/**
 * Half of the shift, in standard deviations, that the charts are designed to detect. Source: model
 * 3.2.
 */
const REFERENCE = 0.5;

/**
 * Pull of the home on the set-point per cycle, for a fully anchored identity. Source: model 2.6.
 */
const HOME_PULL = 0.004;

/** Bounds of the latent values. Ordinary streams never reach them. Source: model 1. */
const LATENT_MIN = -0.5;
const LATENT_MAX = 1.5;

/** Energy below which engagement falls, and engagement at zero energy. Source: model 2.3. */
const ENGAGED_ENERGY = 0.5;
const ENGAGEMENT_MIN = 0.4;

/**
 * Stress above which attention narrows, and loss of each mode at full stress. Source: model 2.3.
 */
const NARROWING_STRESS = 0.3;
const ATTENTION_LOSS = Float64Array.of(0.3, 0.6, 0, 0.2, 0.4, 0.1, 0);

/** Share of a gap that a reading closes; 0 at zero confidence. Source: model 2.1. */
export function gainOf(confidence: number): number {
  return confidence / (confidence + READING_NOISE);
}

/** Variance of a reading around a set-point that rests on `evidence` readings; 1 at the maximum. */
export function uncertaintyOf(evidence: number): number {
  return 1 + UNCERTAINTY * (1 / (1 + evidence) - 1 / (1 + EVIDENCE_MAX));
}

/** Share of its cue that `mode` receives under acute stress `stress`, (0, 1]. Source: model 2.3. */
export function attentionTo(mode: number, stress: number): number {
  const excess = stress - NARROWING_STRESS;
  return excess > 0 ? 1 - at(ATTENTION_LOSS, mode) * (excess / (1 - NARROWING_STRESS)) : 1;
}

/** Engagement of an identity at `energy`, [0.4, 1]. Source: model 2.3. */
export function engagementAt(energy: number): number {
  return ENGAGEMENT_MIN + (1 - ENGAGEMENT_MIN) * Math.min(1, energy / ENGAGED_ENERGY);
}

/**
 * Departure of the reading `signal` of `mode` from the set-point, in standard deviations of the
 * readings expected from this identity. Source: model 2.3.
 */
export function departureOf(state: State, mode: number, signal: number): number {
  const spread = at(SIGMA, mode) * Math.sqrt(uncertaintyOf(at(state, OFFSET.evidence + mode)));
  return (signal - at(state, OFFSET.setPoint + mode)) / spread;
}

/** Adds a reading of departure `departure` to both charts of `mode`. Source: model 2.3, 3.2. */
export function gatherEvidence(state: State, mode: number, gain: number, departure: number): void {
  const up = OFFSET.risen + mode;
  const down = OFFSET.fallen + mode;
  const risen = at(state, up) + gain * (departure - REFERENCE);
  const fallen = at(state, down) + gain * (-departure - REFERENCE);
  state[up] = clamp(risen, 0, DRIFT_EVIDENCE_MAX);
  state[down] = clamp(fallen, 0, DRIFT_EVIDENCE_MAX);
}

/**
 * Learns from the reading `signal` of `mode`. Source: model 2.3.
 *
 * The set-point moves as a running mean, pulled back to the home. The tendencies move by one filter
 * step. The other modes follow by regression on the observed mode. `gain` is the gain of the
 * reading; `felt` is the gain after engagement and attention.
 *
 * Keep the order of the products as in the model. A home of 0 can land exactly on a threshold,
 * where the last bit decides.
 */
export function learn(
  state: State,
  mode: number,
  signal: number,
  gain: number,
  felt: number,
): void {
  const evidence = at(state, OFFSET.evidence + mode);
  const pace = gain / (1 + evidence);
  const news = signal - at(state, OFFSET.setPoint + mode);
  const pull = signal - at(state, OFFSET.tendency + mode);
  const kept = 1 - HOME_PULL * at(state, OFFSET.anchoring);
  for (let other = 0; other < MODE_COUNT; other++) {
    const coupling = at(COUPLING, mode * MODE_COUNT + other);
    const home = at(state, OFFSET.home + other);
    const learnt = at(state, OFFSET.setPoint + other) + pace * coupling * news;
    const moved = at(state, OFFSET.tendency + other) + felt * coupling * pull;
    state[OFFSET.setPoint + other] = clamp(home + kept * (learnt - home), LATENT_MIN, LATENT_MAX);
    state[OFFSET.tendency + other] = clamp(moved, LATENT_MIN, LATENT_MAX);
  }
  state[OFFSET.evidence + mode] = Math.min(EVIDENCE_MAX, evidence + gain);
}
