import {
  type AnswerQuality,
  halvesOf,
  judgeAnswers,
  ofMode,
  type Verdict,
} from '#identity/answer-quality';
import { newRanking, rankDominant } from '#identity/dominance';
import {
  ANSWER_MAX,
  ANSWER_MIN,
  type Answer,
  INVENTORY_VERSION,
  type InvalidAnswers,
  readAnswers,
} from '#identity/inventory';
import { MODE_COUNT, MODE_KEYS, MODE_NAMES, type ModeKey, type ModeName } from '#identity/modes';
import { at } from '#identity/numbers';
import {
  COMPOSITES,
  type CompositeKey,
  matchPersonas,
  type PersonaMatch,
  squaredDistances,
} from '#identity/persona-match';
import { PERSONA_PROFILES, type PersonaId } from '#identity/persona-profiles';
import { ENERGY_DEFAULT } from '#identity/state';

/** Re-exported, so that callers of `score` need one import. */
export type { Answer };

/** Numbers over the modes, by key. */
type ByMode = Readonly<Record<ModeKey, number>>;

/** Result of a protocol. Every number is rounded to six decimals. Source: model 6. */
export type Scored = {
  kind: 'scored';
  version: string;
  /** [0, 1]; pulled towards the middle if the answers are doubtful. */
  modeStrengths: ByMode;
  /** [1, 5]. */
  scores: ByMode;
  dominantModes: readonly ModeName[];
  /**
   * The three nearest personas, nearest first. `fit` is the chi-square tail of the squared
   * distance.
   */
  nearestPersonas: readonly { id: PersonaId; distance: number; fit: number }[];
  composite: CompositeKey | undefined;
  /** Valid `initial_config` of `POST /instances`. */
  initialConfig: { modeStrengths: ByMode; energyLevel: number };
  quality: AnswerQuality;
};

/** Share of a score that becomes strength, by verdict. Source: model 6. */
const TRUST = { ok: 1, caution: 0.75, invalid: 0.25 } as const satisfies Record<Verdict, number>;

/** Midpoints of scores and of strengths. */
const SCORE_MIDDLE = (ANSWER_MIN + ANSWER_MAX) / 2;
const STRENGTH_MIDDLE = 0.5;

const NEAREST_COUNT = 3;
const DECIMALS = 1e6;

/**
 * Scores a submitted inventory, or returns the first error of the answers. Stateless. Source: model
 * 6.
 */
export function score(answers: readonly Answer[]): Scored | InvalidAnswers {
  const sheet = readAnswers(answers);
  if (sheet.kind === 'invalid') return sheet;
  const quality = judgeAnswers(sheet);
  const scores = MODE_KEYS.map((key) => {
    const { forward, reversed } = halvesOf(ofMode(sheet.marked, key));
    return SCORE_MIDDLE + (forward - reversed) / 2;
  });
  const strengths = Float64Array.from(scores, (value) => strengthOf(value, quality.verdict));
  const modeStrengths = byMode(strengths);
  return {
    kind: 'scored',
    version: INVENTORY_VERSION,
    modeStrengths,
    scores: byMode(scores),
    dominantModes: dominantModesOf(strengths),
    nearestPersonas: nearestPersonasOf(strengths),
    composite: compositeOf(strengths),
    initialConfig: { modeStrengths, energyLevel: ENERGY_DEFAULT },
    quality: {
      ...quality,
      consistency: rounded(quality.consistency),
      acquiescence: rounded(quality.acquiescence),
      responseSd: rounded(quality.responseSd),
    },
  };
}

function strengthOf(value: number, verdict: Verdict): number {
  const position = (value - ANSWER_MIN) / (ANSWER_MAX - ANSWER_MIN);
  return STRENGTH_MIDDLE + TRUST[verdict] * (position - STRENGTH_MIDDLE);
}

function dominantModesOf(strengths: Float64Array): ModeName[] {
  const dominant = newRanking(MODE_COUNT);
  rankDominant(strengths, dominant);
  return [...dominant.items.subarray(0, dominant.count)].flatMap((mode) => MODE_NAMES[mode] ?? []);
}

function nearestPersonasOf(strengths: Float64Array): Scored['nearestPersonas'] {
  const squares = squaredDistances(strengths);
  return PERSONA_PROFILES.map(({ id }, index) => ({ id, square: squares[index] ?? 0 }))
    .sort((left, right) => left.square - right.square || (left.id < right.id ? -1 : 1))
    .slice(0, NEAREST_COUNT)
    .map(({ id, square }) => ({
      id,
      distance: rounded(Math.sqrt(square)),
      fit: rounded(chiSquareTail(square)),
    }));
}

function compositeOf(strengths: Float64Array): CompositeKey | undefined {
  const match: PersonaMatch = { nearestPersona: -1, composite: -1 };
  matchPersonas(strengths, match);
  return COMPOSITES[match.composite]?.key;
}

function byMode(values: ArrayLike<number>): ByMode {
  const entries = MODE_KEYS.map((key, mode) => [key, rounded(values[mode] ?? 0)] as const);
  return Object.fromEntries(entries) as Record<ModeKey, number>;
}

/** Rounds to six decimals. Adding zero turns a negative zero into zero. Source: model 6. */
function rounded(value: number): number {
  return Math.round(value * DECIMALS) / DECIMALS + 0;
}

/**
 * Chebyshev coefficients, in `2t - 1` with `t = 2 / (2 + x)`, of `ln(erfc(x) / t) + x^2` for `x >=
 * 0`.
 *
 * Interpolated at 64 Chebyshev nodes in 40-digit arithmetic. The truncated terms are below 1e-14,
 * and so is the relative error of erfc.
 */
const ERFC_COEFFICIENTS = Float64Array.of(
  ...[-0.6513268598908547, 0.6419697923564902, 0.019476473204185836],
  ...[-0.009561514786808632, -0.0009465953444820369, 0.00036683949785276145],
  ...[4.252332480690777e-5, -2.0278578112534242e-5, -1.6242900046470256e-6],
  ...[1.3036558355805232e-6, 1.5626441722066142e-8, -8.523809591492654e-8],
  ...[6.5290544390988515e-9, 5.059343495551469e-9, -9.91364156493033e-10],
  ...[-2.273651222931836e-10, 9.646791102015527e-11, 2.3940380830391146e-12],
  ...[-6.886027526497553e-12, 8.944879273090725e-13, 3.130921399342958e-13],
  ...[-1.1270822361367252e-13],
);

/** The complementary error function for `x >= 0`. */
function complementaryError(x: number): number {
  const t = 2 / (2 + x);
  const doubled = 4 * t - 2;
  let current = 0;
  let previous = 0;
  for (let order = ERFC_COEFFICIENTS.length - 1; order > 0; order--) {
    const next = doubled * current - previous + at(ERFC_COEFFICIENTS, order);
    previous = current;
    current = next;
  }
  const series = at(ERFC_COEFFICIENTS, 0) + 0.5 * doubled * current - previous;
  return t * Math.exp(series - x * x);
}

/**
 * Probability that a chi-square variable with 7 degrees of freedom, one per mode, exceeds `q >= 0`.
 * Closed form for odd degrees of freedom. Source: model 3.6.
 */
export function chiSquareTail(q: number): number {
  const density = Math.exp(-0.5 * q) * Math.sqrt((2 * q) / Math.PI);
  const tail = complementaryError(Math.sqrt(0.5 * q)) + density * (1 + q / 3 + (q * q) / 15);
  return Math.min(1, tail);
}
