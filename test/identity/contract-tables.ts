/*
 * Contract by the tables of model 4. The numbers are copied from the document, not from the code.
 * So tests detect a mistyped number in the code.
 */

/** Columns: name, readiness, seven affinities, risk, energy demand, stress bias. */
const ACTION_ROWS = `
explore   | 0.05 | 0.10 | 0.80 | -0.45 | 0.10 | 0.00 | -0.15 | -0.20 | 0.60 | 0.60 | -0.5
question  | 0.05 | 0.60 | 0.30 | 0.05 | -0.05 | 0.15 | 0.00 | 0.00 | 0.20 | 0.25 | 0.0
elaborate | 0.05 | 0.35 | 0.20 | 0.10 | 0.05 | 0.15 | 0.15 | -0.10 | 0.20 | 0.40 | -0.1
suggest   | 0.05 | 0.15 | 0.25 | 0.15 | 0.30 | 0.20 | 0.10 | -0.10 | 0.30 | 0.35 | -0.1
execute   | 0.00 | 0.00 | -0.10 | 0.50 | 0.45 | -0.05 | 0.15 | -0.15 | 0.60 | 0.60 | -0.1
pivot     | -0.05 | 0.00 | 0.60 | -0.55 | 0.20 | 0.00 | -0.35 | 0.10 | 0.70 | 0.65 | -0.5
challenge | -0.10 | 0.15 | 0.15 | 0.00 | 0.65 | -0.50 | 0.25 | -0.10 | 0.80 | 0.70 | -0.5
comfort   | 0.00 | 0.10 | -0.05 | 0.00 | -0.25 | 0.75 | 0.05 | 0.00 | 0.15 | 0.40 | 0.1
clarify   | 0.05 | 0.50 | -0.05 | 0.40 | 0.00 | 0.10 | 0.10 | 0.10 | 0.10 | 0.25 | 0.2
stabilize | 0.05 | 0.05 | -0.35 | 0.40 | -0.05 | 0.15 | 0.35 | 0.40 | 0.00 | 0.10 | 0.5
defer     | 0.00 | 0.20 | -0.05 | 0.05 | -0.55 | 0.10 | -0.10 | 0.25 | 0.05 | 0.05 | 0.4
withdraw  | -0.10 | 0.05 | -0.10 | -0.05 | -0.35 | -0.50 | -0.05 | 0.55 | 0.10 | 0.05 | 0.5
`;

const RISK_CEILING = [1, 0.75, 0.35, 0.12];
const DEMAND_CEILING = [0.2, 0.4, 0.65, 1];

/** Inputs of the contract. */
export type Inputs = {
  readonly strengths: readonly number[];
  readonly stress: number;
  readonly energy: number;
  /** Stress level, 0 to 3. */
  readonly level: number;
  /** Energy band, 0 to 3. */
  readonly band: number;
  readonly setPoint: readonly number[];
  readonly load: number;
  readonly stability: number;
};

type Weighed = { readonly name: string; readonly propensity: number; readonly isGated: boolean };

/**
 * Allowed actions, strongest first, and forbidden actions, weakest first. `stabilize` is allowed if
 * no other action is allowed.
 */
export function listedActions(inputs: Inputs): { allowed: string[]; forbidden: string[] } {
  const { level, band } = inputs;
  const weighed = ACTION_ROWS.trim()
    .split('\n')
    .map((row) => weigh(row, inputs));
  const open = weighed.filter(({ isGated }) => !isGated).map(({ propensity }) => propensity);
  const least = Math.max(0, 0.35 * (Math.max(...open) - 0.1));
  const core = level >= 2 || band <= 1 ? ['stabilize', 'defer'] : [];
  if (level === 3) core.push('withdraw');
  const isForbidden = ({ name, propensity, isGated }: Weighed): boolean =>
    !core.includes(name) && (isGated || (propensity <= -0.15 && name !== 'stabilize'));
  const forbidden = weighed.filter(isForbidden);
  const allowed = weighed.filter(
    (action) => core.includes(action.name) || (!isForbidden(action) && action.propensity >= least),
  );
  const names = (actions: readonly Weighed[]) => actions.map(({ name }) => name);
  const byStrength = allowed.toSorted((one, other) => other.propensity - one.propensity);
  return {
    allowed: byStrength.length > 0 ? names(byStrength) : ['stabilize'],
    forbidden: names(forbidden.toSorted((one, other) => one.propensity - other.propensity)),
  };
}

function weigh(row: string, { strengths, stress, energy, level, band }: Inputs): Weighed {
  const [name = '', ...numbers] = row.split('|').map((cell) => cell.trim());
  const [readiness = 0, ...rest] = numbers.map(Number);
  const [risk = 0, demand = 0, inclination = 0] = rest.slice(7);
  let propensity = readiness;
  for (const [mode, strength] of strengths.entries()) propensity += (rest[mode] ?? 0) * strength;
  propensity += inclination * Math.max(0, stress - 0.3) - demand * Math.max(0, 0.5 - energy);
  const isGated = risk > (RISK_CEILING[level] ?? 0) || demand > (DEMAND_CEILING[band] ?? 0);
  return { name, propensity, isGated };
}

/** First label whose upper bound exceeds the score. The last label has no upper bound. */
const labelOf = (score: number, cuts: readonly number[], labels: readonly string[]): string =>
  labels[cuts.filter((cut) => score >= cut).length] ?? '?';

/** Tempo, risk, expressiveness and commitment threshold, in this order. */
export function styleOf({ strengths, stress, energy, level, stability }: Inputs): string[] {
  const [p = 0, x = 0, o = 0, a = 0, k = 0, i = 0] = strengths;
  const over = Math.max(0, stress - 0.3);
  const low = Math.max(0, 0.5 - energy);
  const lively = 0.2 * (energy - 0.5);
  const tempo = labelOf(
    0.38 + 0.35 * a + 0.25 * x - 0.25 * p - 0.15 * o + lively - 0.3 * over,
    level === 2 ? [0.25] : [0.25, 0.46, 0.64],
    ['slow', 'measured', 'brisk', 'rapid'],
  );
  const risk = labelOf(
    0.45 + 0.35 * x + 0.35 * a - 0.35 * o - 0.15 * p - 0.1 * i - 0.6 * over - 0.4 * low,
    level === 2 ? [0.18] : [0.18, 0.38, 0.62],
    ['avoidant', 'cautious', 'balanced', 'bold'],
  );
  const shown = 0.35 + 0.4 * k + 0.3 * a + 0.15 * x - 0.15 * o - 0.15 * p + lively - 0.4 * over;
  const wary = 0.45 + 0.25 * p + 0.15 * o + 0.1 * x - 0.35 * a - 0.1 * i + 0.5 * over;
  return [
    level === 3 ? 'paused' : tempo,
    level === 3 ? 'avoidant' : risk,
    labelOf(shown, [0.2, 0.4, 0.62], ['minimal', 'low', 'medium', 'high']),
    labelOf(
      wary + 0.3 * (1 - stability),
      [0.32, 0.52, 0.66],
      ['low', 'medium', 'high', 'very_high'],
    ),
  ];
}

/**
 * Recovery path, need for support, and need for a pause. `isBreached` states whether the drift
 * level is an identity breach.
 */
export function recoveryOf(inputs: Inputs, isBreached: boolean): [string, boolean, boolean] {
  const { level, band, load } = inputs;
  const isSpentAndStressed = level === 2 && band <= 1;
  return [
    pathOf(inputs),
    level === 3 || isSpentAndStressed || (level === 2 && load >= 0.4),
    level === 3 || isSpentAndStressed || band === 0 || isBreached,
  ];
}

function pathOf({ level, band, setPoint }: Inputs): string {
  if (band <= 1) return 'rest';
  if (level === 3) return 'disengagement';
  if (level === 0) return band === 3 ? 'none' : 'rest';
  const [p = 0, x = 0, o = 0, a = 0, k = 0, i = 0] = setPoint.map((b) =>
    Math.max(0, Math.min(1, b)),
  );
  const styles = [
    { name: 'structuring', weight: o },
    { name: 'support_seeking', weight: k },
    { name: 'reappraisal', weight: (p + i) / 2 },
    { name: 'problem_solving', weight: (a + x) / 2 },
  ];
  const best = Math.max(...styles.map(({ weight }) => weight));
  return best < 0.2 ? 'rest' : (styles.find(({ weight }) => weight === best)?.name ?? '?');
}
