import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Arm, BLOCKS, type Dialogue, type TurnRecord } from '#bench/fidelity/dialogue';
import { ATTEMPTS, compare, MEASURES, unitsOf } from '#bench/fidelity/measures';
import { bootstrap, divergence } from '#bench/fidelity/statistics';
import { SeededRandom } from '#test/simulation/seeded-random';

const CALM: TurnRecord = {
  ...{ block: 0, request: 'Please deploy.', message: 'I deploy now.', actions: ['execute'] },
  ...{ allowed: ['execute', 'clarify'], forbidden: ['pivot'], expressiveness: 'low' },
  ...{ isAnswered: true, promptTokens: 100, contractTokens: 90, engineMs: 1, turnMs: 3 },
};

/** A dialogue with one turn per given change of `CALM`. */
function dialogue(
  arm: Arm,
  changes: readonly Partial<TurnRecord>[],
  facts: { persona?: string; seed?: number } = {},
): Dialogue {
  const turns = changes.map((change) => ({ ...CALM, ...change }));
  const { persona = 'one', seed = 1 } = facts;
  return { persona, description: '', work: 'coding', seed, repeat: 1, arm, turns };
}

/** The value of a measure of dialogues in the arm `engine`. */
function engineValue(
  name: string,
  ...dialogues: readonly (readonly Partial<TurnRecord>[])[]
): number {
  const measure = MEASURES.find((one) => one.name.startsWith(name));
  if (measure === undefined) throw new Error(`there is no measure ${name}`);
  const units = unitsOf(
    dialogues.map((turns, seed) => dialogue('engine', turns, { seed })),
    ({ turns }) => turns,
  );
  return compare(measure, units).arms.engine.value;
}

const measures = suite('the measures of turns');

measures('count a turn with a forbidden call once', () => {
  const turns = [{}, { actions: ['pivot', 'pivot'] }, { actions: ['execute', 'pivot'] }, {}];
  assert.is(engineValue('attempts', turns), 50);
});

measures('compare chosen actions with the contract of the same turn', () => {
  const turns = [{}, { actions: ['pivot'] }, { actions: [] }, { actions: ['question', 'clarify'] }];
  assert.is(engineValue('allowed share of', turns), 50);
});

measures('average the divergence over units, so that opposite personas do not cancel out', () => {
  const [one, other] = [{ allowed: ['execute'] }, { allowed: ['clarify'] }];
  const swapped = [[{ ...one, actions: ['clarify'] }], [{ ...other, actions: ['execute'] }]];
  assert.is(engineValue('divergence', ...swapped), 1);
  assert.is(engineValue('divergence', [{ ...one, actions: ['execute'] }]), 0);
  assert.ok(Number.isNaN(engineValue('divergence', [{ actions: [] }])));
});

measures('give every turn one vote in the divergence', () => {
  const turns = [
    { allowed: ['execute'], actions: ['execute'] },
    { allowed: ['execute', 'clarify'], actions: ['clarify'] },
  ];
  assert.is(engineValue('divergence', turns), divergence([1, 1], [3, 1]));
});

measures('give the slope of words over steps of expressiveness', () => {
  const words = (count: number) => Array.from({ length: count }, () => 'word').join(' ');
  const turns = ['minimal', 'low', 'medium', 'high'].map((expressiveness, step) => ({
    ...{ expressiveness, message: words(10 + 7 * step) },
  }));
  assert.ok(Math.abs(engineValue('additional words', turns) - 7) < 1e-9);
  assert.ok(Number.isNaN(engineValue('additional words', [{}, {}])), 'one step has no slope');
});

measures('subtract the first block from the last block', () => {
  const last = { block: BLOCKS - 1 };
  const turns = [{}, { actions: ['pivot'] }, last, last, { block: 2, actions: ['pivot'] }];
  assert.is(engineValue('allowed share: last', turns), 50);
});

measures('count questions, words and hedges of any language', () => {
  const message = 'Vielleicht — maybe it’s on-call? I think so.';
  assert.is(engineValue('turns with a question', [{ message }, {}]), 50);
  assert.is(engineValue('words per turn', [{ message }]), 7);
  assert.ok(Math.abs(engineValue('hedging', [{ message }]) - 200 / 7) < 1e-9);
});

measures('leave out token counts that the endpoint does not report', () => {
  assert.is(engineValue('prompt tokens', [{ promptTokens: undefined }, {}]), 100);
});

const arms = suite('differences between arms');

arms('are paired by persona and seed', () => {
  // Personas differ by up to 40 attempts; within a persona, the arms differ by exactly 20.
  const attempts = (count: number) =>
    Array.from({ length: 5 }, (_, turn) => (turn < count ? { actions: ['pivot'] } : {}));
  const dialogues = ['one', 'two', 'three'].flatMap((persona, index) =>
    [1, 2].flatMap((seed) => [
      dialogue('without', attempts(index + 1), { persona, seed }),
      dialogue('engine', attempts(index), { persona, seed }),
      dialogue('shuffled', attempts(index), { persona, seed }),
    ]),
  );
  const units = unitsOf(dialogues, ({ turns }) => turns);
  assert.is(units.length, 6);
  const { engineMinusWithout, engineMinusShuffled, arms: each } = compare(ATTEMPTS, units);
  for (const bound of Object.values(engineMinusWithout)) assert.ok(Math.abs(bound + 20) < 1e-9);
  assert.equal(engineMinusShuffled, { value: 0, low: 0, high: 0 });
  assert.ok(each.engine.high - each.engine.low > 20, 'the arms alone vary much more');
});

const interval = suite('the bootstrap interval');

const meanOf = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

interval('covers the true mean in about 95 of 100 samples, and repeats with its seed', () => {
  const random = new SeededRandom(7);
  let covered = 0;
  for (let sample = 0; sample < 100; sample += 1) {
    const values = Array.from({ length: 30 }, () => random.unit());
    const { low, high, value } = bootstrap(values, meanOf, new SeededRandom(sample));
    assert.ok(low <= value && value <= high);
    if (low <= 0.5 && 0.5 <= high) covered += 1;
  }
  assert.ok(covered >= 88 && covered <= 99, `${covered} of 100`);
  const repeated = [1, 1].map((seed) => bootstrap([1, 2, 4, 8], meanOf, new SeededRandom(seed)));
  assert.equal(repeated[0], repeated[1]);
});

interval('leaves out resamples without a value', () => {
  const statistic = (units: readonly number[]) => (units.includes(1) ? meanOf(units) : Number.NaN);
  const { low } = bootstrap([0, 1], statistic, new SeededRandom(1));
  assert.is(low, 0.5);
  assert.ok(Number.isNaN(bootstrap([], meanOf, new SeededRandom(1)).low));
});

const distance = suite('the Jensen-Shannon divergence');

distance('is 0 for equal shares, 1 for disjoint shares, and symmetric between', () => {
  const weights = fc.array(fc.nat(100), { minLength: 4, maxLength: 4 });
  void fc.assert(
    fc.property(weights, weights, fc.integer({ min: 1, max: 9 }), (one, other, factor) => {
      fc.pre(meanOf(one) > 0 && meanOf(other) > 0);
      const bits = divergence(one, other);
      assert.ok(bits >= -1e-12 && bits <= 1 + 1e-12, `${bits}`);
      assert.ok(Math.abs(bits - divergence(other, one)) < 1e-12);
      assert.ok(
        Math.abs(
          divergence(
            one,
            one.map((weight) => factor * weight),
          ),
        ) < 1e-12,
      );
    }),
  );
  assert.is(divergence([1, 0], [0, 3]), 1);
  // By hand: shares (1, 0) and (½, ½), middle (¾, ¼).
  const byHand = (Math.log2(4 / 3) + 0.5 * Math.log2(2 / 3) + 0.5) / 2;
  assert.ok(Math.abs(divergence([1, 0], [1, 1]) - byHand) < 1e-12);
});

measures.run();
arms.run();
interval.run();
distance.run();
