import { ARMS, type Arm, BLOCKS, type Dialogue, type TurnRecord } from '#bench/fidelity/dialogue';
import { bootstrap, divergence, type Estimate } from '#bench/fidelity/statistics';
import { ACTIONS } from '#clients/typescript/src/actions';
import { SeededRandom } from '#test/simulation/seeded-random';

/** A measure of items, such as turns. Its value depends only on sums, so units can be pooled. */
export type Measure<Item> = {
  readonly name: string;
  readonly decimals: number;
  /** Sums over items. Always the same number of sums. */
  readonly sums: (items: readonly Item[]) => readonly number[];
  /** Value of added sums; NaN if the sums have no value. */
  readonly value: (sums: readonly number[]) => number;
};

/** Items of all dialogues with one persona and one seed, by arm. The unit of the statistics. */
export type Unit<Item> = Readonly<Record<Arm, readonly Item[]>>;

/** A measure in all arms, and its paired differences between arms. */
export type Comparison = {
  readonly name: string;
  readonly decimals: number;
  readonly arms: Readonly<Record<Arm, Estimate>>;
  readonly engineMinusWithout: Estimate;
  readonly engineMinusShuffled: Estimate;
};

/** Steps of expressiveness in the contract, from few to many words. */
const EXPRESSIVENESS: readonly string[] = ['minimal', 'low', 'medium', 'high'];

/** Words that make a statement less certain. Chosen: the measure only compares arms. */
const HEDGES =
  /\b(?:perhaps|maybe|possibly|probably|presumably|apparently|might|could be|seems?|i (?:think|guess|suppose|believe)|not (?:sure|certain))\b/gi;

const WORD = /[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu;

/** Seed of all resamples, so that equal dialogues give an equal report. */
const SEED = 40;

/** Number of matches of a global pattern. */
const countOf = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

/** A measure that divides one sum by another, for example by the number of turns. */
export function ratio<Item>(
  name: string,
  decimals: number,
  parts: (item: Item) => readonly [sum: number | boolean, count: number],
  factor = 1,
): Measure<Item> {
  return {
    ...{ name, decimals },
    sums: (items) =>
      added(
        items.map((item) => parts(item).map(Number)),
        2,
      ),
    value: ([sum = 0, count = 0]) => (factor * sum) / count,
  };
}

/** Adds lists of `length` sums, term by term. */
function added(lists: readonly (readonly number[])[], length: number): number[] {
  return Array.from({ length }, (_, term) =>
    lists.reduce((sum, list) => sum + (list[term] ?? 0), 0),
  );
}

/** Number of the chosen actions that the contract allows, and of all chosen actions. */
function allowedOf({ actions, allowed }: TurnRecord): [number, number] {
  return [actions.filter((action) => allowed.includes(action)).length, actions.length];
}

/** Jensen-Shannon divergence of the chosen from the allowed actions, averaged over units. */
const DIVERGENCE: Measure<TurnRecord> = {
  ...{ name: 'divergence of chosen from allowed actions, bits', decimals: 3 },
  sums(turns) {
    const names = Object.values(ACTIONS);
    // Each turn has one vote, split evenly between its actions.
    const votes = (of: (turn: TurnRecord) => readonly string[]) =>
      names.map((name) =>
        turns.reduce(
          (sum, turn) => sum + Number(of(turn).includes(name)) / (of(turn).length || 1),
          0,
        ),
      );
    const bits = divergence(
      votes(({ actions }) => actions),
      votes(({ allowed }) => allowed),
    );
    return Number.isNaN(bits) ? [0, 0] : [bits, 1];
  },
  value: ([sum = 0, count = 0]) => sum / count,
};

/** Slope of the least-squares line of words on the steps of expressiveness. */
const WORDS_PER_STEP: Measure<TurnRecord> = {
  name: "additional words per turn when the contract's expressiveness rises by one level",
  decimals: 1,
  sums(turns) {
    const terms = turns.map(({ expressiveness, message }) => {
      const [x, y] = [EXPRESSIVENESS.indexOf(expressiveness), countOf(message, WORD)];
      return x < 0 ? [] : [1, x, y, x * x, x * y];
    });
    return added(terms, 5);
  },
  value: ([n = 0, x = 0, y = 0, xx = 0, xy = 0]) => (n * xy - x * y) / (n * xx - x * x),
};

/** Change of the allowed share from the first to the last block of turns. */
const DRIFT: Measure<TurnRecord> = {
  ...{ name: 'allowed share: last minus first sixth of the turns, %', decimals: 1 },
  sums: (turns) =>
    [BLOCKS - 1, 0].flatMap((block) =>
      added(turns.filter((turn) => turn.block === block).map(allowedOf), 2),
    ),
  value: ([last = 0, lastCount = 0, first = 0, firstCount = 0]) =>
    100 * (last / lastCount - first / firstCount),
};

/** Turns that call a tool whose action the contract forbids. */
export const ATTEMPTS = ratio<TurnRecord>(
  'attempts at forbidden actions per 100 turns',
  1,
  ({ actions, forbidden }) => [actions.some((action) => forbidden.includes(action)), 1],
  100,
);

/** Share of the chosen actions that the contract allows. */
export const ALLOWED = ratio('allowed share of chosen actions, %', 1, allowedOf, 100);

/** All measures of turns. */
export const MEASURES: readonly Measure<TurnRecord>[] = [
  ...[ATTEMPTS, ALLOWED, DIVERGENCE, DRIFT],
  ratio('words per turn', 1, ({ message }) => [countOf(message, WORD), 1]),
  WORDS_PER_STEP,
  ratio('turns with a question per 100 turns', 1, ({ message }) => [message.includes('?'), 1], 100),
  ratio(
    'hedging words per 100 words',
    2,
    ({ message }) => [countOf(message, HEDGES), countOf(message, WORD)],
    100,
  ),
  ratio('forbidden actions in the contract', 2, ({ forbidden }) => [forbidden.length, 1]),
  ratio('tokens of the contract per turn', 1, ({ contractTokens }) => [contractTokens, 1]),
  ratio('prompt tokens per turn, as the endpoint counts', 0, ({ promptTokens: tokens }) =>
    tokens === undefined ? [0, 0] : [tokens, 1],
  ),
];

/**
 * Units of dialogues: one for each persona and seed, over all kinds of work and repeats. `itemsOf`
 * gives the items of a dialogue.
 */
export function unitsOf<Item>(
  dialogues: readonly Dialogue[],
  itemsOf: (dialogue: Dialogue) => readonly Item[],
): Unit<Item>[] {
  const groups = Map.groupBy(dialogues, ({ persona, seed }) => `${persona} ${seed}`);
  return [...groups.values()].map((group) =>
    byArm((arm) => group.filter((one) => one.arm === arm).flatMap(itemsOf)),
  );
}

/** Compares the arms by a measure. A resample draws whole units, so the differences are paired. */
export function compare<Item>(measure: Measure<Item>, units: readonly Unit<Item>[]): Comparison {
  const { name, decimals } = measure;
  const sums = units.map((unit) => byArm((arm) => measure.sums(unit[arm])));
  type Sums = (typeof sums)[number];
  const valueIn = (arm: Arm, drawn: readonly Sums[]) => {
    const lists = drawn.map((one) => one[arm]);
    return measure.value(added(lists, lists[0]?.length ?? 0));
  };
  const estimate = (statistic: (drawn: readonly Sums[]) => number) =>
    bootstrap(sums, statistic, new SeededRandom(SEED));
  const minus = (other: Arm) =>
    estimate((drawn) => valueIn('engine', drawn) - valueIn(other, drawn));
  return {
    ...{ name, decimals, arms: byArm((arm) => estimate((drawn) => valueIn(arm, drawn))) },
    ...{ engineMinusWithout: minus('without'), engineMinusShuffled: minus('shuffled') },
  };
}

/** A record with a value for each arm. */
export function byArm<Value>(of: (arm: Arm) => Value): Record<Arm, Value> {
  return Object.fromEntries(ARMS.map((arm) => [arm, of(arm)])) as Record<Arm, Value>;
}
