import {
  ANSWER_MAX,
  ANSWER_MIN,
  type AnswerSheet,
  INVENTORY,
  type MarkedItem,
} from '#identity/inventory';
import { MODE_KEYS } from '#identity/modes';
import { clamp } from '#identity/state';

/** How far the answers can be trusted. Source: model 6. */
export type Verdict = 'ok' | 'caution' | 'invalid';

/** Reasons to doubt the answers. Source: model 6. */
type QualityFlag =
  | 'inconsistent'
  | 'acquiescence'
  | 'straightlining'
  | 'low_variability'
  | 'missing_answers';

/** Measures of the quality of answers, independent of the content of the answers. */
export type AnswerQuality = {
  verdict: Verdict;
  /** Agreement among answers within each mode, [0, 1]; 0 for random answers. */
  consistency: number;
  /** Tendency to agree with every statement, [-2, 2]; 0: no tendency. */
  acquiescence: number;
  /** Length of the longest run of equal answers in presentation order. */
  longestRun: number;
  /** Sample standard deviation over raw answers. */
  responseSd: number;
  flags: readonly QualityFlag[];
};

/** Flag thresholds. Source: model 6. */
const INCONSISTENT_BELOW = 0.35;
const HOPELESS_BELOW = 0.2;
const ACQUIESCENT_FROM = 0.75;
const STRAIGHT_RUN_FROM = 10;
const LOW_SD_BELOW = 0.5;

/** Variance for uniformly random answers. Source: model 6. */
const RANDOM_VARIANCE = 2;

/** Midpoint of the answer scale. */
const MIDDLE = (ANSWER_MIN + ANSWER_MAX) / 2;

/**
 * Flags that make the answers doubtful. More than `GRAVE_MAX` of these make the verdict `invalid`.
 * Source: model 6.
 */
const GRAVE: readonly QualityFlag[] = ['inconsistent', 'straightlining', 'low_variability'];
const GRAVE_MAX = 1;

/** Computes the quality of the answers in `sheet`. Source: model 6. */
export function judgeAnswers({ marked }: AnswerSheet): AnswerQuality {
  const values = marked.map(({ value }) => value);
  const acquiescence = mean(MODE_KEYS.map((key) => acquiescenceOf(ofMode(marked, key))));
  const spread = mean(MODE_KEYS.map((key) => keyedVariance(ofMode(marked, key), acquiescence)));
  const consistency = clamp(1 - spread / RANDOM_VARIANCE, 0, 1);
  const longestRun = longestRunOf(values);
  const responseSd = Math.sqrt(sampleVariance(values));
  const flags: QualityFlag[] = [];
  if (consistency < INCONSISTENT_BELOW) flags.push('inconsistent');
  if (Math.abs(acquiescence) >= ACQUIESCENT_FROM) flags.push('acquiescence');
  if (longestRun >= STRAIGHT_RUN_FROM) flags.push('straightlining');
  if (responseSd < LOW_SD_BELOW) flags.push('low_variability');
  if (marked.length < INVENTORY.length) flags.push('missing_answers');
  const verdict = verdictOf(flags, consistency);
  return { verdict, consistency, acquiescence, longestRun, responseSd, flags };
}

/** Mean raw answer to the forward items and to the reversed items in `marked`. Source: model 6. */
export function halvesOf(marked: readonly MarkedItem[]): { forward: number; reversed: number } {
  const valuesOf = (isReversed: boolean) =>
    marked.filter(({ item }) => item.isReversed === isReversed).map(({ value }) => value);
  return { forward: mean(valuesOf(false)), reversed: mean(valuesOf(true)) };
}

/** Answered items of one mode. */
export function ofMode(marked: readonly MarkedItem[], mode: string): readonly MarkedItem[] {
  return marked.filter(({ item }) => item.mode === mode);
}

function verdictOf(flags: readonly QualityFlag[], consistency: number): Verdict {
  const graveCount = flags.filter((flag) => GRAVE.includes(flag)).length;
  if (graveCount > GRAVE_MAX || consistency < HOPELESS_BELOW) return 'invalid';
  return flags.length > 0 ? 'caution' : 'ok';
}

function acquiescenceOf(marked: readonly MarkedItem[]): number {
  const { forward, reversed } = halvesOf(marked);
  return (forward + reversed) / 2 - MIDDLE;
}

/** Variance within a mode, after subtracting acquiescence and reversing the reversed items. */
function keyedVariance(marked: readonly MarkedItem[], acquiescence: number): number {
  return sampleVariance(
    marked.map(({ item, value }) => {
      const corrected = value - acquiescence;
      return item.isReversed ? 2 * MIDDLE - corrected : corrected;
    }),
  );
}

function longestRunOf(values: readonly number[]): number {
  let longest = 0;
  let run = 0;
  for (const [index, value] of values.entries()) {
    run = value === values[index - 1] ? run + 1 : 1;
    longest = Math.max(longest, run);
  }
  return longest;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function sampleVariance(values: readonly number[]): number {
  const centre = mean(values);
  const squares = values.reduce((sum, value) => sum + (value - centre) ** 2, 0);
  return squares / (values.length - 1);
}
