import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newSnapshot, readSnapshot } from '#identity/contract';
import { COVARIANCE_INVERSE, quadraticShares } from '#identity/drift';
import { advance, CYCLE_SECONDS, flow } from '#identity/model';
import { MODE_COUNT, STRESS_RESPONSE } from '#identity/modes';
import { createState, OFFSET, type State } from '#identity/state';
import {
  advanced,
  certainly,
  freshState,
  gapSeconds,
  isRolledBack,
  lived,
  observation,
  reachableState,
  type Step,
  scalarAt,
  share,
  vectorAt,
} from '#test/support/arbitrary-identity';

/** Modes that never restore energy: exploration, order, assertion, stress response. */
const DRAINING = [1, 2, 3, 6];

const mode = fc.integer({ min: 0, max: MODE_COUNT - 1 });

/** State at the time of the observation, before its effects. */
function flowed(from: State, dtSeconds: number): State {
  const into = from.slice();
  flow(from, dtSeconds + CYCLE_SECONDS, into);
  return into;
}

const tendencyOf = (state: State, place: number) => scalarAt(state, OFFSET.tendency + place);

const cycle = suite('a cycle');

cycle('keeps every value within its bounds (row 1)', () => {
  fc.assert(
    fc.property(reachableState, observation, gapSeconds, (state, seen, dtSeconds) => {
      const after = advanced(state, seen, dtSeconds);
      assert.ok(after.every(Number.isFinite));
      const snapshot = newSnapshot();
      readSnapshot(after, snapshot);
      const energy = scalarAt(after, OFFSET.energy);
      const shares = [...snapshot.strengths, snapshot.stability, energy];
      for (const value of [
        ...shares,
        scalarAt(after, OFFSET.stress),
        scalarAt(after, OFFSET.load),
      ]) {
        assert.ok(value >= 0 && value <= 1, `${value} is outside [0, 1]`);
      }
      assert.ok(energy <= scalarAt(after, OFFSET.restingEnergy));
      for (const value of vectorAt(after, OFFSET.evidence)) assert.ok(value >= 8 && value <= 100);
    }),
    { numRuns: 300 },
  );
});

cycle('is a pure function of its arguments (row 2)', () => {
  fc.assert(
    fc.property(reachableState, observation, gapSeconds, (state, seen, dtSeconds) => {
      const before = state.slice();
      const first = advanced(state, seen, dtSeconds);
      assert.equal(state, before);
      const second = new Float64Array(state.length).fill(Number.NaN);
      advance(state, seen, dtSeconds, second);
      assert.equal(second, first);
      advance(state, seen, dtSeconds, state);
      assert.equal(state, first, 'the result in place is equal');
      assert.is(scalarAt(first, OFFSET.cycle), scalarAt(before, OFFSET.cycle) + 1);
    }),
  );
});

cycle('treats an observation from the past as current', () => {
  fc.assert(
    fc.property(reachableState, observation, gapSeconds, (state, seen, dtSeconds) => {
      assert.equal(advanced(state, seen, -dtSeconds), advanced(state, seen, 0));
    }),
  );
});

cycle('learns nothing from an observation with zero confidence (row 4)', () => {
  fc.assert(
    fc.property(reachableState, observation, observation, gapSeconds, (state, seen, other, dt) => {
      const after = advanced(state, { ...seen, confidence: 0 }, dt);
      assert.equal(after, advanced(state, { ...other, confidence: 0 }, dt));
      if (isRolledBack(after)) return;
      const idle = flowed(state, dt);
      const { setPoint, home } = OFFSET;
      const still = [OFFSET.tendency, OFFSET.evidence, OFFSET.risen, OFFSET.fallen];
      for (const offset of still) {
        for (let place = offset; place < offset + MODE_COUNT; place++) near(after, idle, place);
      }
      near(after, idle, OFFSET.stress);
      near(after, idle, OFFSET.energy);
      // Per-cycle effects remain: the pull towards home, and the allostatic average.
      const kept = 1 - 0.004 * scalarAt(state, OFFSET.anchoring);
      for (let place = 0; place < MODE_COUNT; place++) {
        const away = scalarAt(idle, setPoint + place) - scalarAt(idle, home + place);
        idle[setPoint + place] = scalarAt(idle, home + place) + kept * away;
        near(after, idle, setPoint + place);
      }
      const load = scalarAt(idle, OFFSET.load);
      idle[OFFSET.load] = load + 0.01 * (scalarAt(idle, OFFSET.stress) - load);
      near(after, idle, OFFSET.load);
    }),
  );
});

function near(found: State, wanted: State, place: number): void {
  const gap = Math.abs(scalarAt(found, place) - scalarAt(wanted, place));
  assert.ok(gap <= 1e-12, `place ${place}: off by ${gap}`);
}

cycle('raises a mode more for a stronger signal (row 5)', () => {
  fc.assert(
    fc.property(reachableState, mode, share, share, share, (state, place, one, two, confidence) => {
      const weak = advanced(state, { mode: place, signal: Math.min(one, two), confidence }, 10);
      const strong = advanced(state, { mode: place, signal: Math.max(one, two), confidence }, 10);
      if (isRolledBack(weak) || isRolledBack(strong)) return;
      assert.ok(tendencyOf(weak, place) <= tendencyOf(strong, place));
      if (place !== STRESS_RESPONSE) return;
      assert.ok(scalarAt(weak, OFFSET.stress) <= scalarAt(strong, OFFSET.stress));
    }),
  );
});

cycle('moves a mode further towards the signal for higher confidence (row 6)', () => {
  fc.assert(
    fc.property(reachableState, mode, share, share, share, (state, place, signal, one, two) => {
      const unsure = advanced(state, certainly(place, signal, Math.min(one, two)), 10);
      const sure = advanced(state, certainly(place, signal, Math.max(one, two)), 10);
      if (isRolledBack(unsure) || isRolledBack(sure)) return;
      const start = tendencyOf(flowed(state, 10), place);
      const less = tendencyOf(unsure, place) - start;
      const more = tendencyOf(sure, place) - start;
      assert.ok(Math.abs(less) <= Math.abs(more) + 1e-15);
      assert.ok(more * (signal - start) >= 0);
    }),
  );
});

cycle('moves stress towards a stress observation but never past it (row 7)', () => {
  fc.assert(
    fc.property(reachableState, share, share, (state, signal, confidence) => {
      const start = scalarAt(flowed(state, 10), OFFSET.stress);
      const after = advanced(state, certainly(STRESS_RESPONSE, signal, confidence), 10);
      const end = scalarAt(after, OFFSET.stress);
      assert.ok(end >= Math.min(start, signal) - 1e-15 && end <= Math.max(start, signal) + 1e-15);
      if (confidence > 0 && Math.abs(signal - start) > 1e-6) assert.is.not(end, start);
    }),
  );
});

cycle('uses at most 15 % of the energy, and restores none in draining modes (row 7)', () => {
  fc.assert(
    fc.property(reachableState, observation, gapSeconds, (state, seen, dtSeconds) => {
      const start = scalarAt(flowed(state, dtSeconds), OFFSET.energy);
      const end = scalarAt(advanced(state, seen, dtSeconds), OFFSET.energy);
      assert.ok(end >= 0.85 * start);
      if (DRAINING.includes(seen.mode)) assert.ok(end <= start);
    }),
  );
});

cycle('keeps a neutral identity neutral for neutral observations (row 12)', () => {
  const neutral = createState({ modeStrengths: [], energyLevel: 0.8 });
  const after = lived(
    neutral,
    Array.from({ length: 50 }, (_, index) => ({
      observation: certainly(index % MODE_COUNT, 0),
      dtSeconds: 20,
    })),
  );
  assert.equal(vectorAt(after, OFFSET.tendency), new Array(MODE_COUNT).fill(0));
  assert.is(scalarAt(after, OFFSET.stress), 0);
  assert.is(scalarAt(after, OFFSET.energy), 0.8);
  assert.is(scalarAt(after, OFFSET.unrest), 0);
});

cycle('moves in opposite directions for opposite observations (row 14)', () => {
  const calm = fc.record({ state: freshState, stress: share, energy: share });
  fc.assert(
    fc.property(calm, mode, share, share, ({ state, stress, energy }, place, scale, confidence) => {
      state[OFFSET.stress] = stress;
      state[OFFSET.energy] = energy * scalarAt(state, OFFSET.restingEnergy);
      const centre = scalarAt(state, OFFSET.setPoint + place);
      const apart = 0.1 * scale;
      fc.pre(centre - apart >= 0 && centre + apart <= 1);
      const up = advanced(state, certainly(place, centre + apart, confidence), 10);
      const down = advanced(state, certainly(place, centre - apart, confidence), 10);
      for (let other = 0; other < MODE_COUNT; other++) {
        const start = tendencyOf(state, other);
        const sum = tendencyOf(up, other) - start + (tendencyOf(down, other) - start);
        assert.ok(Math.abs(sum) <= 1e-9);
      }
      const evidence = (after: State, offset: number) => scalarAt(after, offset + place);
      const risen = evidence(up, OFFSET.risen) - evidence(down, OFFSET.fallen);
      const fallen = evidence(up, OFFSET.fallen) - evidence(down, OFFSET.risen);
      assert.ok(Math.abs(risen) <= 1e-9 && Math.abs(fallen) <= 1e-9);
    }),
  );
});

cycle.run();

const pair = suite('two identities with the same home and the same observations');

/** Distance of tendencies in the norm of model 2.7. */
function distance(one: State, other: State): number {
  const apart = Float64Array.from({ length: MODE_COUNT }, (_, place) => {
    return tendencyOf(one, place) - tendencyOf(other, place);
  });
  return Math.sqrt(quadraticShares(COVARIANCE_INVERSE, apart, new Float64Array(MODE_COUNT)));
}

pair('never diverge (row 15)', () => {
  const apart = fc.array(fc.integer({ min: -300, max: 300 }), {
    minLength: MODE_COUNT,
    maxLength: MODE_COUNT,
  });
  fc.assert(
    fc.property(freshState, apart, observation, (one, steps, seen) => {
      const other = one.slice();
      for (const [place, step] of steps.entries()) {
        other[OFFSET.tendency + place] = tendencyOf(one, place) + step / 1_000;
      }
      const start = distance(flowed(one, 0), flowed(other, 0));
      const first = advanced(one, seen, 0);
      const second = advanced(other, seen, 0);
      const latent = [...vectorAt(first, OFFSET.tendency), ...vectorAt(second, OFFSET.tendency)];
      fc.pre(latent.every((value) => value > -0.5 && value < 1.5));
      fc.pre(!isRolledBack(first) && !isRolledBack(second));
      assert.ok(distance(first, second) <= start * (1 + 1e-12));
    }),
  );
});

pair('converge within 1500 cycles (row 15)', () => {
  const creator = [0.45, 0.85, 0.2, 0.65, 0.4, 0.5, 0.3];
  const home = createState({ modeStrengths: creator, energyLevel: 0.8 });
  const stressed: Step[] = Array.from({ length: 60 }, () => ({
    observation: certainly(STRESS_RESPONSE, 0.9),
    dtSeconds: 5,
  }));
  const one = home.slice();
  const other = lived(home, stressed);
  assert.ok(distance(one, other) > 1, 'the initial states differ');
  for (let index = 0; index < 1_500; index++) {
    const place = (index * 5) % MODE_COUNT;
    const signal = (creator[place] ?? 0) + 0.15 * Math.sin(index);
    advance(one, certainly(place, signal, 0.9), 25, one);
    advance(other, certainly(place, signal, 0.9), 25, other);
    assert.not.ok(isRolledBack(one) || isRolledBack(other));
  }
  const places: number[] = [OFFSET.stress, OFFSET.load, OFFSET.energy, OFFSET.unrest];
  for (let index = 0; index < 2 * MODE_COUNT; index++) places.push(OFFSET.tendency + index);
  for (const place of places) {
    const gap = Math.abs(scalarAt(one, place) - scalarAt(other, place));
    assert.ok(gap <= 2e-3, `place ${place}: off by ${gap}`);
  }
});

pair.run();
