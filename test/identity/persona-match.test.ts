import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { COVARIANCE_INVERSE } from '#identity/drift';
import { MODE_COUNT } from '#identity/modes';
import { PERSONA_PROFILES } from '#identity/persona-profiles';
import { COMPOSITES, matchPersonas, squaredDistances } from '#identity/ranking';

/** Limits of model 5, copied from the document. */
const FARTHEST = 14.0671;
const LEADING_MIN = 0.25;
const UNION_MIN = 0.4;
const MARGIN_MIN = -0.1;
const SHARE_MIN = 0.25;
const SHARE_MAX = 0.75;

type Vector = readonly number[];

const minus = (one: Vector, other: Vector): number[] =>
  one.map((value, mode) => value - (other[mode] ?? 0));

/** Inner product of two vectors in the model's metric. */
function product(one: Vector, other: Vector): number {
  let sum = 0;
  for (const [row, left] of one.entries()) {
    for (const [column, right] of other.entries()) {
      sum += left * (COVARIANCE_INVERSE[row * MODE_COUNT + column] ?? 0) * right;
    }
  }
  return sum;
}

const profileOf = (id: string): Vector =>
  PERSONA_PROFILES.find((profile) => profile.id === id)?.strengths ?? [];

const distanceTo = (strengths: Vector, profile: Vector): number => {
  const apart = minus(strengths, profile);
  return product(apart, apart);
};

/** The two strongest modes of a persona, which exceed the minimum by far. */
const leadersOf = (profile: Vector): number[] =>
  profile
    .map((strength, mode) => ({ strength, mode }))
    .toSorted((one, other) => other.strength - one.strength)
    .slice(0, 2)
    .map(({ mode }) => mode);

/** Margin of a blend of two personas. Undefined if the strengths are not between both personas. */
function marginOf(strengths: Vector, from: Vector, to: Vector): number | undefined {
  const union = new Set([...leadersOf(from), ...leadersOf(to)]);
  const ofUnion = strengths.filter((_, mode) => union.has(mode));
  const others = strengths.filter((_, mode) => !union.has(mode) && mode < MODE_COUNT - 1);
  const margin = Math.min(...ofUnion) - Math.max(...others);
  if (Math.min(...ofUnion) < UNION_MIN || margin < MARGIN_MIN) return undefined;
  const way = minus(to, from);
  const share = product(minus(strengths, from), way) / product(way, way);
  if (share < SHARE_MIN || share > SHARE_MAX) return undefined;
  const beside = minus(strengths, from).map((value, mode) => value - share * (way[mode] ?? 0));
  return product(beside, beside) <= FARTHEST ? margin : undefined;
}

function matchByModel(strengths: Vector) {
  const near = PERSONA_PROFILES.map(({ id, strengths: profile }) => ({
    id,
    square: distanceTo(strengths, profile),
  })).toSorted((one, other) => one.square - other.square || (one.id < other.id ? -1 : 1))[0];
  const isNear = Math.max(...strengths) >= LEADING_MIN && (near?.square ?? 99) <= FARTHEST;
  const blends = COMPOSITES.map(({ key, from, to }) => ({
    key,
    margin: marginOf(strengths, profileOf(from), profileOf(to)),
  })).filter(
    (blend): blend is { key: typeof blend.key; margin: number } => blend.margin !== undefined,
  );
  const widest = blends.toSorted((one, other) => other.margin - one.margin)[0];
  return { nearest: isNear ? near?.id : undefined, composite: widest?.key };
}

function found(strengths: Vector) {
  const match = { nearestPersona: 0, composite: 0 };
  matchPersonas(Float64Array.from(strengths), match);
  return {
    nearest: PERSONA_PROFILES[match.nearestPersona]?.id,
    composite: COMPOSITES[match.composite]?.key,
  };
}

/** Strengths between or near two personas, around the borders of composites. */
const between = fc
  .record({
    blend: fc.constantFrom(...COMPOSITES),
    share: fc.integer({ min: 0, max: 100 }),
    steps: fc.array(fc.integer({ min: -25, max: 25 }), { minLength: 7, maxLength: 7 }),
  })
  .map(({ blend, share, steps }) => {
    const [from, to] = [profileOf(blend.from), profileOf(blend.to)];
    return from.map((start, mode) => {
      // Never exactly on a limit, where rounding decides.
      const middle = start + ((share + 0.5) / 100) * ((to[mode] ?? 0) - start);
      return Math.max(0, Math.min(1, middle + (steps[mode] ?? 0) / 100));
    });
  });
const anything = fc.array(
  fc.integer({ min: 0, max: 20 }).map((step) => step / 20),
  { minLength: MODE_COUNT, maxLength: MODE_COUNT },
);

const match = suite('the persona match of strengths');

match(
  "has the nearest persona and the composite with the widest margin by the model's formulas",
  () => {
    const seen = new Map<string | undefined, number>();
    fc.assert(
      fc.property(fc.oneof(between, between, anything), (strengths) => {
        const { nearest, composite } = found(strengths);
        assert.equal({ nearest, composite }, matchByModel(strengths));
        for (const name of [composite, nearest]) seen.set(name, (seen.get(name) ?? 0) + 1);
      }),
      { numRuns: 3_000 },
    );
    for (const { key } of COMPOSITES)
      assert.ok((seen.get(key) ?? 0) > 20, `${key} occurs too rarely`);
  },
);

match("uses distances in the model's metric", () => {
  fc.assert(
    fc.property(anything, (strengths) => {
      const squares = squaredDistances(Float64Array.from(strengths));
      for (const [place, { strengths: profile }] of PERSONA_PROFILES.entries()) {
        const gap = Math.abs((squares[place] ?? 0) - distanceTo(strengths, profile));
        assert.ok(gap < 1e-9);
      }
    }),
  );
});

match('has one of four composites, by their public names', () => {
  assert.equal(
    COMPOSITES.map(({ key }) => key),
    [
      'knowledge_focused_relationship_aware',
      'visionary_leader',
      'safe_adventurer',
      'principled_caregiver',
    ],
  );
});

match.run();
