import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { judgeAnswers } from '#identity/answer-quality';
import { type Answer, INVENTORY, readAnswers } from '#identity/inventory';
import { MODE_KEYS } from '#identity/modes';

/** Answers for a mode: three forward items, then two reversed items. */
type OfMode = readonly [number, number, number, number, number];

const mean = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
const variance = (values: readonly number[]) => {
  const centre = mean(values);
  const squares = values.map((value) => (value - centre) ** 2);
  return (mean(squares) * values.length) / (values.length - 1);
};

const judged = (values: readonly number[]) => {
  const answers = INVENTORY.map(({ id }, index) => ({ questionId: id, value: values[index] ?? 3 }));
  const sheet = readAnswers(answers);
  assert.is(sheet.kind, 'sheet');
  if (sheet.kind === 'invalid') throw new Error(sheet.reason);
  return judgeAnswers(sheet);
};

/** A complete inventory in presentation order, from the answers of each mode. */
function protocolOf(ofMode: (mode: string) => OfMode): number[] {
  const used = new Map<string, number>();
  return INVENTORY.map(({ mode, isReversed }) => {
    const key = `${mode} ${isReversed}`;
    const place = used.get(key) ?? 0;
    used.set(key, place + 1);
    return ofMode(mode)[(isReversed ? 3 : 0) + place] ?? 3;
  });
}

/** Reference implementation of model 6. */
function qualityBy(values: readonly number[]) {
  const halves = MODE_KEYS.map((key) => {
    const of = (isReversed: boolean) =>
      values.filter((_, index) => {
        const item = INVENTORY[index];
        return item?.mode === key && item.isReversed === isReversed;
      });
    return { forward: of(false), reversed: of(true) };
  });
  const acquiescence = mean(
    halves.map(({ forward, reversed }) => (mean(forward) + mean(reversed)) / 2 - 3),
  );
  const within = halves.map(({ forward, reversed }) =>
    variance([
      ...forward.map((value) => value - acquiescence),
      ...reversed.map((value) => 6 - (value - acquiescence)),
    ]),
  );
  const consistency = Math.max(0, Math.min(1, 1 - mean(within) / 2));
  const runs = values.map((value, index) => {
    const end = values.findIndex((other, place) => place > index && other !== value);
    return (end < 0 ? values.length : end) - index;
  });
  const longestRun = Math.max(...runs);
  const responseSd = Math.sqrt(variance(values));
  const grave = [
    ...(consistency < 0.35 ? ['inconsistent'] : []),
    ...(longestRun >= 10 ? ['straightlining'] : []),
    ...(responseSd < 0.5 ? ['low_variability'] : []),
  ];
  const flags = [...grave, ...(Math.abs(acquiescence) >= 0.75 ? ['acquiescence'] : [])];
  const verdict =
    grave.length > 1 || consistency < 0.2 ? 'invalid' : flags.length > 0 ? 'caution' : 'ok';
  return { acquiescence, consistency, longestRun, responseSd, flags: flags.toSorted(), verdict };
}

const value = fc.integer({ min: 1, max: 5 });
const near = (centre: number) =>
  fc.integer({ min: Math.max(1, centre - 1), max: Math.min(5, centre + 1) });

/** Honest, careless, agreeable and random answers. */
const protocol = fc.oneof(
  fc.array(value, { minLength: 35, maxLength: 35 }),
  fc
    .constantFrom(2, 3, 4)
    .chain((centre) => fc.array(near(centre), { minLength: 35, maxLength: 35 })),
  fc
    .tuple(fc.array(value, { minLength: 35, maxLength: 35 }), value, fc.nat(25), fc.nat(14))
    .map(([values, same, from, length]) => [...values].fill(same, from, from + length)),
  fc
    .array(fc.tuple(value, fc.array(near(3), { minLength: 5, maxLength: 5 })), {
      minLength: 7,
      maxLength: 7,
    })
    .map((leans) =>
      protocolOf((mode) => {
        const [lean = 3, noise = []] = leans[MODE_KEYS.indexOf(mode as 'order')] ?? [];
        const at = (place: number, middle: number) =>
          Math.max(1, Math.min(5, middle + (noise[place] ?? 3) - 3));
        return [at(0, lean), at(1, lean), at(2, lean), at(3, 6 - lean), at(4, 6 - lean)];
      }),
    ),
);

const quality = suite('the quality of an inventory');

quality('follows the formulas of the model for any answers', () => {
  fc.assert(
    fc.property(protocol, (values) => {
      const { verdict, flags, ...numbers } = judged(values);
      const wanted = qualityBy(values);
      for (const [name, found] of Object.entries(numbers)) {
        const gap = Math.abs(found - wanted[name as keyof typeof numbers]);
        assert.ok(gap < 1e-9, `${name} is off by ${gap}`);
      }
      // If a number equals a limit up to rounding, both results are correct.
      const onLimit = [
        wanted.consistency - 0.35,
        wanted.consistency - 0.2,
        wanted.responseSd - 0.5,
      ];
      if (onLimit.some((gap) => Math.abs(gap) < 1e-9)) return;
      assert.equal(flags.toSorted(), wanted.flags);
      assert.is(verdict, wanted.verdict);
    }),
    { numRuns: 1_000 },
  );
});

quality('is doubtful if the mean agreement differs from the midpoint by 0.75 or more', () => {
  const agreeable = judged(protocolOf(() => [4, 4, 4, 3, 4]));
  assert.is(agreeable.acquiescence, 0.75);
  assert.ok(agreeable.flags.includes('acquiescence'));
  const contrary = judged(protocolOf(() => [2, 2, 2, 3, 2]));
  assert.is(contrary.acquiescence, -0.75);
  assert.ok(contrary.flags.includes('acquiescence'));
});

quality('is doubtful for ten or more equal consecutive answers', () => {
  const honest = protocolOf(() => [4, 4, 5, 2, 1]);
  const withRun = (length: number) => [...honest].fill(3, 0, length);
  assert.not.ok(judged(withRun(9)).flags.includes('straightlining'));
  const { flags, verdict } = judged(withRun(10));
  assert.equal(
    [flags, verdict],
    [['straightlining'], 'caution'],
    'a single grave flag is not invalid',
  );
});

quality.run();

const half = suite('an inventory that asks a mode in only one direction');

for (const [way, isReversed] of [
  ['reversed', true],
  ['forward', false],
] as const) {
  half(`is rejected if no ${way} item of connection was answered`, () => {
    const answers: Answer[] = INVENTORY.filter(
      (item) => item.mode !== 'connection' || item.isReversed !== isReversed,
    ).map(({ id }) => ({ questionId: id, value: 3 }));
    assert.equal(readAnswers(answers), {
      kind: 'invalid',
      reason: 'too_few_answers',
      field: 'answers',
      mode: 'connection',
    });
  });
}

half.run();
