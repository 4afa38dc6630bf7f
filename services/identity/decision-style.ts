import { at } from '#identity/at';
import type { Snapshot } from '#identity/snapshot';
import { OFFSET, type State } from '#identity/state';

/** How fast it moves, in rising order like all four; `paused` stands apart. Source: model 4. */
export const TEMPOS = ['slow', 'measured', 'brisk', 'rapid', 'paused'] as const;
/** How much is ventured. Source: model 4. */
export const RISKS = ['avoidant', 'cautious', 'balanced', 'bold'] as const;
/** How much is shown. Source: model 4. */
export const EXPRESSIVENESSES = ['minimal', 'low', 'medium', 'high'] as const;
/** How much evidence is wanted before committing. Source: model 4. */
export const COMMITMENTS = ['low', 'medium', 'high', 'very_high'] as const;

/** Stress from which behaviour shows pressure. Source: model 4. */
export const STRESS_THRESHOLD = 0.3;

/** Energy around which style turns from lively to spared. Source: model 4. */
const ENERGY_PIVOT = 0.5;

/** Where each score passes to the next label. Source: model 4. */
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

/** How an identity decides, as positions in the four enumerations. */
export type DecisionStyle = {
  tempo: number;
  risk: number;
  expressiveness: number;
  commitment: number;
};

/**
 * Writes the style that follows from reported strengths, stress, energy and stability. A high
 * stress level caps tempo and risk whatever the strengths say. Source: model 4.
 */
export function readStyle(state: State, snapshot: Snapshot, into: DecisionStyle): void {
  const { strengths, energy, stressLevel, stability } = snapshot;
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
  into.tempo = tempoUnder(stressLevel, stepOf(tempo, TEMPO_CUTS));
  into.risk = riskUnder(stressLevel, stepOf(drive - 0.6 * pressure - 0.4 * tiredness, RISK_CUTS));
  into.expressiveness = stepOf(warmth + vigour - 0.4 * pressure, EXPRESSIVENESS_CUTS);
  into.commitment = stepOf(caution + 0.5 * pressure + 0.3 * (1 - stability), COMMITMENT_CUTS);
}

function tempoUnder(stressLevel: number, tempo: number): number {
  if (stressLevel === OVER) return PAUSED;
  return stressLevel === HIGH ? Math.min(tempo, MEASURED) : tempo;
}

function riskUnder(stressLevel: number, risk: number): number {
  if (stressLevel === OVER) return AVOIDANT;
  return stressLevel === HIGH ? Math.min(risk, CAUTIOUS) : risk;
}

/** How many of the three `cuts` the score has reached. */
function stepOf(score: number, cuts: Float64Array): number {
  if (score < at(cuts, 1)) return score < at(cuts, 0) ? 0 : 1;
  return score < at(cuts, 2) ? 2 : 3;
}
