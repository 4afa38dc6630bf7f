import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  ACTIONS,
  COMMITMENTS,
  EXPRESSIVENESSES,
  RECOVERY_PATHS,
  RISKS,
  TEMPOS,
} from '#identity/contract';
import { MODE_COUNT, STRESS_RESPONSE } from '#identity/modes';
import type { Ranking } from '#identity/ranking';
import { newReport, readReport } from '#identity/report';
import { createState, OFFSET, type State } from '#identity/state';
import { type Inputs, listedActions, recoveryOf, styleOf } from '#test/identity/contract-tables';
import { vectorAt } from '#test/support/arbitrary-identity';

/** Within-person standard deviation of each mode. */
const SIGMA = [0.18, 0.2, 0.18, 0.2, 0.18, 0.16, 0.2];
/** Loss of attention of each mode at full stress. */
const ATTENTION_LOSS = [0.3, 0.6, 0, 0.2, 0.4, 0.1, 0];

/** Numbers on a grid, so that values often equal a threshold. */
const onGrid = (min: number, max: number) =>
  fc.integer({ min: 20 * min, max: 20 * max }).map((step) => step / 20);
const seven = (one: fc.Arbitrary<number>) =>
  fc.array(one, { minLength: MODE_COUNT, maxLength: MODE_COUNT });
const step = fc.integer({ min: 0, max: 3 });

/** Any state, even if unreachable: the contract is a pure function. */
const anyState: fc.Arbitrary<State> = fc
  .record({
    tendency: seven(onGrid(-0.5, 1.5)),
    setPoint: seven(onGrid(-0.5, 1.5)),
    stress: onGrid(0, 1),
    energy: onGrid(0, 1),
    load: onGrid(0, 1),
    unrest: fc.integer({ min: 0, max: 40 }),
    stressLevel: step,
    energyBand: step,
    driftLevel: step,
  })
  .map(({ tendency, setPoint, ...scalars }) => {
    const state = createState({ modeStrengths: [], energyLevel: 0.8 });
    state.set(tendency, OFFSET.tendency);
    state.set(setPoint, OFFSET.setPoint);
    for (const [name, value] of Object.entries(scalars)) {
      state[OFFSET[name as keyof typeof scalars]] = value;
    }
    return state;
  });

const report = newReport();

function inputsOf(state: State): Inputs {
  readReport(state, report);
  const { strengths, energy, stability } = report.snapshot;
  return {
    strengths: [...strengths],
    energy,
    stability,
    stress: state[OFFSET.stress] ?? 0,
    level: state[OFFSET.stressLevel] ?? 0,
    band: state[OFFSET.energyBand] ?? 0,
    setPoint: vectorAt(state, OFFSET.setPoint),
    load: state[OFFSET.load] ?? 0,
  };
}

const listed = ({ items, count }: Ranking) => [...items.subarray(0, count)];
const named = (ranking: Ranking) => listed(ranking).map((action) => ACTIONS[action]);

const tables = suite('the contract of any state');

tables("lists allowed and forbidden actions by the model's tables, in order", () => {
  fc.assert(
    fc.property(anyState, (state) => {
      const wanted = listedActions(inputsOf(state));
      assert.equal(named(report.contract.allowed), wanted.allowed);
      assert.equal(named(report.contract.forbidden), wanted.forbidden);
    }),
    { numRuns: 2_000 },
  );
});

tables("allows stabilize if the model's tables allow no action", () => {
  const weak = createState({ modeStrengths: [], energyLevel: 0.8 });
  const assertion = 0.05;
  weak.set([0, 0, 0, assertion, 0, 0, 0], OFFSET.tendency);
  weak[OFFSET.energy] = 0;
  weak[OFFSET.energyBand] = 2;
  readReport(weak, report);
  assert.equal(named(report.contract.allowed), ['stabilize']);
});

tables("has the style given by the model's thresholds", () => {
  fc.assert(
    fc.property(anyState, (state) => {
      const wanted = styleOf(inputsOf(state));
      const { tempo, risk, expressiveness, commitment } = report.contract.style;
      const found = [TEMPOS[tempo], RISKS[risk], EXPRESSIVENESSES[expressiveness]];
      assert.equal([...found, COMMITMENTS[commitment]], wanted);
    }),
    { numRuns: 2_000 },
  );
});

tables('has recovery path, support and pause according to the model', () => {
  fc.assert(
    fc.property(anyState, (state) => {
      const wanted = recoveryOf(inputsOf(state), state[OFFSET.driftLevel] === 3);
      const { path, isSupportRequired, isCooldownRequired } = report.contract;
      assert.equal([RECOVERY_PATHS[path], isSupportRequired, isCooldownRequired], wanted);
    }),
    { numRuns: 2_000 },
  );
});

tables('has at most two dominant modes, and all suppressed modes', () => {
  fc.assert(
    fc.property(anyState, (state) => {
      const { strengths, stress } = inputsOf(state);
      const most = Math.max(...strengths);
      const leading = strengths
        .map((strength, mode) => ({ strength, mode }))
        .filter(({ strength }) => strength >= 0.25 && strength >= 0.6 * most)
        .toSorted((one, other) => other.strength - one.strength)
        .slice(0, 2)
        .map(({ mode }) => mode);
      assert.equal(listed(report.contract.dominant), leading);
      const suppressed = strengths.flatMap((_, mode) => {
        const away = (state[OFFSET.tendency + mode] ?? 0) - (state[OFFSET.setPoint + mode] ?? 0);
        const narrowing = Math.max(0, stress - 0.3) / (1 - 0.3);
        const isUnattended = 1 - (ATTENTION_LOSS[mode] ?? 0) * narrowing <= 0.6;
        const isHeldDown = away / (SIGMA[mode] ?? 1) <= -0.4;
        return (isUnattended || isHeldDown) && !leading.includes(mode) ? [mode] : [];
      });
      assert.equal(listed(report.contract.suppressed), suppressed);
    }),
    { numRuns: 2_000 },
  );
});

tables.run();

/** Standardised departures of a cycle, some exactly at a mode's threshold. */
const departure = fc.oneof(onGrid(-4, 4), fc.constantFrom(-1.96, 1.96));

const found = suite('the deviation of any cycle');

found('has the affected modes by descending contribution', () => {
  const bits = fc.integer({ min: 0, max: 2 ** MODE_COUNT - 1 });
  fc.assert(
    fc.property(seven(departure), bits, step, (departures, sustained, level) => {
      const state = createState({ modeStrengths: [], energyLevel: 0.8 });
      state.set(departures, OFFSET.departure);
      state[OFFSET.foundSustained] = sustained;
      state[OFFSET.driftLevel] = level;
      readReport(state, report);
      const { affected, contributions } = report.deviation;
      const shareOf = (mode: number) => contributions[mode] ?? 0;
      const counts = departures
        .map((size, mode) => ({ mode, isOne: Math.abs(size) >= 1.96 || isIn(sustained, mode) }))
        .filter(({ isOne }) => isOne)
        .map(({ mode }) => mode)
        .toSorted((one, other) => shareOf(other) - shareOf(one));
      const sizes = departures.map(Math.abs);
      const wanted = counts.length > 0 ? counts : [sizes.indexOf(Math.max(...sizes))];
      assert.equal(listed(affected), level === 0 ? [] : wanted);
    }),
    { numRuns: 1_000 },
  );
});

const isIn = (bits: number, mode: number) => Math.floor(bits / 2 ** mode) % 2 === 1;

found(
  'has only the mode that departed farthest (the first on ties) if no mode is at its threshold',
  () => {
    const small = fc.oneof(onGrid(-1, 1), fc.constantFrom(-1.9, 1.9));
    const outside = fc.integer({ min: 1, max: 3 });
    fc.assert(
      fc.property(seven(small), outside, (departures, level) => {
        const state = createState({ modeStrengths: [], energyLevel: 0.8 });
        state.set(departures, OFFSET.departure);
        state[OFFSET.driftLevel] = level;
        readReport(state, report);
        const sizes = departures.map(Math.abs);
        assert.equal(listed(report.deviation.affected), [sizes.indexOf(Math.max(...sizes))]);
      }),
      { numRuns: 300 },
    );
  },
);

found('has distance, chance probability, and direction of the evidence', () => {
  const direction = fc.integer({ min: -MODE_COUNT, max: MODE_COUNT });
  fc.assert(
    fc.property(seven(departure), direction, onGrid(0, 6), (departures, way, evidence) => {
      const state = createState({ modeStrengths: [], energyLevel: 0.8 });
      state.set(departures, OFFSET.departure);
      state[OFFSET.foundDirection] = way;
      state[OFFSET.foundStatistic] = evidence;
      state[OFFSET.foundRun] = 3;
      readReport(state, report);
      const { deviation } = report;
      const { distance, bandStatistic, breach } = deviation;
      assert.ok(Math.abs(distance * distance - bandStatistic) < 1e-9 * (1 + bandStatistic));
      const ofStress = departures[STRESS_RESPONSE] ?? 0;
      assert.is(breach, 0.2 * Math.max(0, bandStatistic - ofStress * ofStress));
      assert.is(deviation.pValue < 0.05, bandStatistic > 14.06714, `T2 is ${bandStatistic}`);
      assert.equal(
        [deviation.evidenceMode, deviation.isEvidenceUp, deviation.evidence, deviation.run],
        [Math.abs(way) - 1, way > 0, evidence, 3],
      );
    }),
    { numRuns: 1_000 },
  );
});

found('has the persona nearest to the returned state', () => {
  const guardian = [0.45, 0.1, 0.85, 0.35, 0.4, 0.75, 0.15];
  readReport(createState({ modeStrengths: guardian, energyLevel: 0.8 }), report);
  const near = report.deviation.nearestPersona;
  readReport(createState({ modeStrengths: [], energyLevel: 0.8 }), report);
  assert.ok(near >= 0);
  assert.is(report.deviation.nearestPersona, -1, 'a neutral identity has no dominant mode');
});

found.run();
