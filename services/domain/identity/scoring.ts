import {
  type AnswerQuality,
  halvesOf,
  judgeAnswers,
  ofMode,
  type Verdict,
} from '#identity/answer-quality';
import { chiSquareTail } from '#identity/drift';
import {
  ANSWER_MAX,
  ANSWER_MIN,
  type Answer,
  INVENTORY_VERSION,
  type InvalidAnswers,
  readAnswers,
} from '#identity/inventory';
import { MODE_COUNT, MODE_KEYS, MODE_NAMES, type ModeKey, type ModeName } from '#identity/modes';
import { PERSONA_PROFILES, type PersonaId } from '#identity/persona-profiles';
import {
  COMPOSITES,
  type CompositeKey,
  matchPersonas,
  newRanking,
  type PersonaMatch,
  rankDominant,
  squaredDistances,
} from '#identity/ranking';
import { ENERGY_DEFAULT } from '#identity/state';

/** Re-exported, so that callers of `score` need only one import. */
export type { Answer };

/** Values by mode key. */
type ByMode = Readonly<Record<ModeKey, number>>;

/** Inventory result. All numbers are rounded to six decimals. Source: model 6. */
export type Scored = {
  kind: 'scored';
  version: string;
  /** Strength of each mode, in [0, 1]. Doubtful answers pull the strengths towards 0.5. */
  modeStrengths: ByMode;
  /** Score of each mode, in [1, 5]. */
  scores: ByMode;
  dominantModes: readonly ModeName[];
  /** The three nearest personas, nearest first. `fit` is the squared distance's chi-square tail. */
  nearestPersonas: readonly { id: PersonaId; distance: number; fit: number }[];
  composite: CompositeKey | undefined;
  /** Valid `initial_config` for `POST /instances`. */
  initialConfig: { modeStrengths: ByMode; energyLevel: number };
  quality: AnswerQuality;
};

/** Weight of the score in the mode strengths, by verdict. Source: model 6. */
const TRUST = { ok: 1, caution: 0.75, invalid: 0.25 } as const satisfies Record<Verdict, number>;

/** Midpoints of the score scale and of the strength scale. */
const SCORE_MIDDLE = (ANSWER_MIN + ANSWER_MAX) / 2;
const STRENGTH_MIDDLE = 0.5;

const NEAREST_COUNT = 3;
const DECIMALS = 1e6;

/**
 * Scores a submitted inventory, or returns the first error in the answers. Stateless. Source:
 * model 6.
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

/** Rounds to six decimals. Adding zero turns negative zero into zero. Source: model 6. */
function rounded(value: number): number {
  return Math.round(value * DECIMALS) / DECIMALS + 0;
}
