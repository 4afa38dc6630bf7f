import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MODE_COUNT } from '#identity/modes';
import { PERSONA_PROFILES } from '#identity/persona-profiles';
import { newReport, type Report, readReport } from '#identity/report';
import {
  createState,
  MODEL_VERSION,
  OFFSET,
  resetToDefault,
  resetToInitial,
  STATE_LENGTH,
  type State,
} from '#identity/state';
import {
  advanced,
  certainly,
  freshState,
  gapSeconds,
  isRolledBack,
  observation,
  reachableState,
  scalarAt,
  vectorAt,
} from '#test/support/arbitrary-identity';

function reportOf(state: State): Report {
  const report = newReport();
  readReport(state, report);
  return report;
}

const found = suite('the reported deviation of a cycle');

found(
  'is consistent and within range, and has affected modes only outside the band (row 9)',
  () => {
    fc.assert(
      fc.property(reachableState, observation, gapSeconds, (state, seen, dtSeconds) => {
        const { deviation } = reportOf(advanced(state, seen, dtSeconds));
        const sum = deviation.contributions.reduce((total, part) => total + part, 0);
        assert.ok(Math.abs(sum - deviation.bandStatistic) < 1e-5);
        assert.is(deviation.affected.count === 0, deviation.level === 0);
        assert.ok(deviation.pValue >= 0 && deviation.pValue <= 1);
        assert.ok(deviation.breach >= 0 && deviation.breach <= 0.2 * deviation.bandStatistic);
        assert.is(deviation.evidenceMode === -1, deviation.evidence === 0);
      }),
      { numRuns: 300 },
    );
  },
);

found('depends only on the state', () => {
  fc.assert(
    fc.property(reachableState, reachableState, (one, other) => {
      const used = reportOf(other);
      readReport(one, used);
      const fresh = reportOf(one);
      assert.equal(used.snapshot, fresh.snapshot);
      assert.equal(used.deviation.departures, fresh.deviation.departures);
      assert.is(used.deviation.nearestPersona, fresh.deviation.nearestPersona);
      assert.is(used.deviation.composite, fresh.deviation.composite);
      assert.is(used.contract.allowed.count, fresh.contract.allowed.count);
      assert.equal(used.contract.style, fresh.contract.style);
    }),
  );
});

found.run();

/**
 * An instance that acts against its home until a breach: the states before and after the breach,
 * and the last observation. Undefined if no breach occurs.
 */
const breachedHistory = fc
  .record({
    profile: fc.constantFrom(...PERSONA_PROFILES),
    modes: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 60, maxLength: 60 }),
    dtSeconds: fc.integer({ min: 0, max: 20 }),
  })
  .map(({ profile, modes, dtSeconds }) => {
    let before = createState({ modeStrengths: profile.strengths, energyLevel: 0.8 });
    for (const mode of modes) {
      const seen = certainly(mode, (profile.strengths[mode] ?? 0) < 0.5 ? 1 : 0);
      const after = advanced(before, seen, dtSeconds);
      if (isRolledBack(after)) return { before, after, seen, dtSeconds };
      before = after;
    }
    return undefined;
  });

const broken = suite('a cycle that breaches the identity');

broken('restores only the modes of the rollback point (row 10)', () => {
  let count = 0;
  fc.assert(
    fc.property(breachedHistory, (history) => {
      if (history === undefined) return;
      count++;
      const { before, after, seen, dtSeconds } = history;
      const { tendency, savedTendency, risen } = OFFSET;
      assert.equal(
        after.slice(tendency, tendency + 3 * MODE_COUNT),
        before.slice(savedTendency, savedTendency + 3 * MODE_COUNT),
      );
      assert.equal(after.slice(risen, risen + 2 * MODE_COUNT), new Float64Array(2 * MODE_COUNT));
      assert.is(scalarAt(after, OFFSET.run), 0);
      assert.is(scalarAt(after, OFFSET.cycle), scalarAt(before, OFFSET.cycle) + 1);
      // The same cycle without a breach: tendencies at the set-point do not affect stress or
      // energy.
      const calm = before.slice();
      calm.set(before.subarray(OFFSET.setPoint, OFFSET.setPoint + MODE_COUNT), tendency);
      calm.fill(0, risen, risen + 2 * MODE_COUNT);
      calm[OFFSET.run] = 0;
      const unbroken = advanced(calm, seen, dtSeconds);
      assert.not.ok(isRolledBack(unbroken));
      for (const place of [OFFSET.stress, OFFSET.load, OFFSET.energy]) {
        assert.is(after[place], unbroken[place]);
      }
    }),
  );
  assert.ok(count > 80, `only ${count} histories ended with a breach`);
});

broken('reports the rejected values, requires a pause, and retains the stability memory', () => {
  fc.assert(
    fc.property(breachedHistory, (history) => {
      if (history === undefined) return;
      const { deviation, contract } = reportOf(history.after);
      assert.ok(deviation.isRolledBack);
      assert.ok(deviation.breach >= 10.6446);
      assert.ok(deviation.run > 0);
      assert.ok(contract.isCooldownRequired);
      assert.ok(
        scalarAt(history.after, OFFSET.unrest) > scalarAt(history.before, OFFSET.unrest) / 2,
      );
    }),
  );
});

broken.run();

const SAVED = [
  ['stress', 'savedStress'],
  ['load', 'savedLoad'],
  ['energy', 'savedEnergy'],
  ['unrest', 'savedUnrest'],
  ['stressLevel', 'savedStressLevel'],
  ['energyBand', 'savedEnergyBand'],
] as const;

const rollbackPoint = suite('the rollback point of a stable cycle');

rollbackPoint('has the values of this cycle that a rollback restores', () => {
  let count = 0;
  fc.assert(
    fc.property(reachableState, observation, gapSeconds, (state, seen, dtSeconds) => {
      const after = advanced(state, seen, dtSeconds);
      if (scalarAt(after, OFFSET.savedCycle) !== scalarAt(after, OFFSET.cycle)) return;
      if (scalarAt(after, OFFSET.stress) > 0) count++;
      const { tendency, savedTendency } = OFFSET;
      assert.equal(
        after.slice(savedTendency, savedTendency + 3 * MODE_COUNT),
        after.slice(tendency, tendency + 3 * MODE_COUNT),
      );
      for (const [now, saved] of SAVED) assert.is(after[OFFSET[saved]], after[OFFSET[now]], now);
    }),
    { numRuns: 500 },
  );
  assert.ok(count > 60, `only ${count} were stable with some stress`);
});

rollbackPoint.run();

const reset = suite('a reset');

reset('to the initial state restores the state after creation (row 17)', () => {
  fc.assert(
    fc.property(freshState, observation, (state, seen) => {
      const lived = advanced(advanced(state, seen, 10), seen, 10);
      const kept = lived.slice();
      assert.equal(resetToInitial(lived), state);
      assert.equal(lived, kept, 'the old state is unchanged');
    }),
  );
});

// A replay from the creation would not reach the states of an instance of an older release.
reset('to the initial state keeps a stress rate with other last bits', () => {
  const old = createState({ modeStrengths: [0.1, 0.7, 0.3, 0.9, 0.5, 0.2, 0.6], energyLevel: 1 });
  old[OFFSET.stressRate] = scalarAt(old, OFFSET.stressRate) * (1 + Number.EPSILON);
  assert.equal(resetToInitial(old), old);
});

reset('to the default restores the rollback point and keeps it at cycle 0 (row 17)', () => {
  fc.assert(
    fc.property(reachableState, (state) => {
      const kept = state.slice();
      const after = resetToDefault(state);
      assert.equal(state, kept, 'the old state is unchanged');
      const { tendency, savedTendency } = OFFSET;
      assert.equal(
        after.slice(tendency, tendency + 3 * MODE_COUNT),
        state.slice(savedTendency, savedTendency + 3 * MODE_COUNT),
      );
      for (const [now, saved] of SAVED) assert.is(after[OFFSET[now]], state[OFFSET[saved]]);
      assert.is(scalarAt(after, OFFSET.cycle), 0);
      assert.is(scalarAt(after, OFFSET.savedCycle), 0);
      assert.equal(vectorAt(after, OFFSET.home), vectorAt(state, OFFSET.home));
      const { deviation } = reportOf(after);
      assert.is(deviation.level, 0);
      assert.is(deviation.run, 0);
      assert.is(deviation.bandStatistic, 0);
      assert.ok(deviation.pValue > 1 - 1e-12);
      assert.equal(resetToDefault(after), after, 'a second reset changes nothing');
    }),
  );
});

reset('leads to a state of this model version', () => {
  assert.is(MODEL_VERSION, '1.0');
  assert.is(
    resetToInitial(createState({ modeStrengths: [], energyLevel: 1 })).length,
    STATE_LENGTH,
  );
});

reset.run();
