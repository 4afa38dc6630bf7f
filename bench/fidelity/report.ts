import { ARMS, BLOCKS, type Dialogue } from '#bench/fidelity/dialogue';
import { type Judgement, SCORES } from '#bench/fidelity/judges';
import {
  ALLOWED,
  ATTEMPTS,
  byArm,
  type Comparison,
  compare,
  MEASURES,
  ratio,
  unitsOf,
} from '#bench/fidelity/measures';
import { type Curves, roundsPicture } from '#bench/fidelity/picture';
import { isScripted, OBEDIENCE } from '#bench/fidelity/scripted-models';
import type { Estimate } from '#bench/fidelity/statistics';
import { numberText, quantileOf } from '#bench/measures/statistics';
import { tableOf } from '#bench/page/text-table';

/** Dialogues of one model, and the judgements of these dialogues by judge model. */
export type Run = {
  readonly model: string;
  readonly dialogues: readonly Dialogue[];
  readonly judgements: ReadonlyMap<string, ReadonlyMap<Dialogue, Judgement>>;
};

const answeredIn = ({ turns }: Dialogue) => turns.filter(({ isAnswered }) => isAnswered);

/** Tables of a model: all measures, scores of the judges, and times. */
export function tablesOf({ model, dialogues, judgements }: Run): string[] {
  const units = unitsOf(dialogues, answeredIn);
  const judged = [...judgements].flatMap(([judge, of]) => {
    const scored = unitsOf(dialogues, (dialogue) => [of.get(dialogue) ?? {}]);
    return SCORES.map((score) =>
      compare(
        ratio<Judgement>(`${score} (${judge})`, 2, (one) => one[score] ?? [0, 0]),
        scored,
      ),
    );
  });
  const rows = [...MEASURES.map((measure) => compare(measure, units)), ...judged].map(rowOf);
  const turns = dialogues.flatMap((dialogue) => dialogue.turns);
  const missing = turns.filter(({ isAnswered }) => !isAnswered).length;
  const silent = turns.filter(({ actions }) => actions.length === 0).length - missing;
  return [
    `### ${model}`,
    `${dialogues.length} dialogues with ${numberText(turns.length, 0)} turns; ${missing} turns ` +
      `without an answer, ${silent} turns without a tool call.`,
    tableOf(['', ...ARMS, 'engine − without', 'engine − shuffled'], rows),
    timesOf(dialogues),
  ];
}

function rowOf({ name, decimals, arms, ...minus }: Comparison): string[] {
  const differences = [minus.engineMinusWithout, minus.engineMinusShuffled];
  return [
    name,
    ...ARMS.map((arm) => shown(arms[arm].value, decimals)),
    ...differences.map((difference) => intervalText(difference, decimals)),
  ];
}

/** `value [low, high]`. */
function intervalText({ value, low, high }: Estimate, decimals: number): string {
  if (!Number.isFinite(value)) return 'none';
  return `${shown(value, decimals)} [${shown(low, decimals)}, ${shown(high, decimals)}]`;
}

function shown(value: number, decimals: number): string {
  // Adding 0 turns -0 into 0.
  const rounded = Number(value.toFixed(decimals)) + 0;
  return Number.isFinite(value) ? numberText(rounded, decimals) : 'none';
}

function timesOf(dialogues: readonly Dialogue[]): string {
  const rows = (['turnMs', 'engineMs'] as const).map((time) => [
    time === 'turnMs' ? 'a turn: model and engine' : 'of which the engine',
    ...ARMS.map((arm) => {
      const turns = dialogues.filter((one) => one.arm === arm).flatMap(answeredIn);
      const sorted = turns.map((turn) => turn[time]).sort((one, other) => one - other);
      return [0.5, 0.95].map((share) => shown(quantileOf(sorted, share), 2)).join(', ');
    }),
  ]);
  return tableOf(['ms per turn: median, 95th percentile', ...ARMS], rows);
}

/** SVG picture of the consistency of all models over the turns. */
export function pictureOf(runs: readonly Run[]): string {
  const heading = 'The six blocks are sixths of each dialogue; bars are 95 % intervals.';
  const rows = [ATTEMPTS, ALLOWED].map((measure) =>
    runs.map(({ model, dialogues }): Curves => {
      const blocks = Array.from({ length: BLOCKS }, (_, block) => {
        const inBlock = (dialogue: Dialogue) =>
          answeredIn(dialogue).filter((turn) => turn.block === block);
        return compare(measure, unitsOf(dialogues, inBlock)).arms;
      });
      const arms = byArm((arm) => blocks.map((block) => block[arm]));
      return { model, measure: measure.name, arms };
    }),
  );
  return roundsPicture(heading, rows);
}

/**
 * Maximum difference between equal arms, in attempts per 100 turns. Instances are milliseconds
 * apart, so a contract can change one turn earlier.
 */
const SAME_MAX = 1;

/**
 * Check of the harness by scripted models. The arms of a model that ignores its prompt must be
 * equal. Models that obey must attempt less with their own contract in the prompt.
 */
export function checkOf(runs: readonly Run[]): { readonly table: string; readonly isMet: boolean } {
  const rows = runs.flatMap(({ model, dialogues }) => {
    if (!isScripted(model)) return [];
    const compared = compare(ATTEMPTS, unitsOf(dialogues, answeredIn));
    const differences = [compared.engineMinusWithout, compared.engineMinusShuffled];
    const isObedient = OBEDIENCE[model] > 0;
    const isMet = differences.every(({ low, high }) =>
      isObedient ? high < 0 : Math.max(-low, high) <= SAME_MAX,
    );
    const cells = differences.map((difference) => intervalText(difference, 1));
    const expected = isObedient ? 'below 0' : `within ±${SAME_MAX}`;
    return [{ isMet, cells: [model, ...cells, expected, isMet ? 'met' : '**not met**'] }];
  });
  const head = ['attempts per 100 turns', 'engine − without', 'engine − shuffled', 'expected', ''];
  const table = tableOf(
    head,
    rows.map(({ cells }) => cells),
  );
  return { table, isMet: rows.length > 0 && rows.every(({ isMet }) => isMet) };
}
