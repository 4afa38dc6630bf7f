import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { flow } from '#identity/model';
import { MODE_COUNT } from '#identity/modes';
import { OFFSET, type State } from '#identity/state';
import { freshState, reachableState, scalarAt, vectorAt } from '#test/support/arbitrary-identity';

const DAY_SECONDS = 86_400;

/** Offsets of the values that change without observations. */
const FLOWING = [
  ...Array.from({ length: MODE_COUNT }, (_, mode) => OFFSET.tendency + mode),
  ...Array.from({ length: MODE_COUNT }, (_, mode) => OFFSET.setPoint + mode),
  ...Array.from({ length: 2 * MODE_COUNT }, (_, place) => OFFSET.risen + place),
  ...[OFFSET.stress, OFFSET.load, OFFSET.energy, OFFSET.unrest],
];

const idle = fc.oneof(fc.integer({ min: 0, max: 7_200 }), fc.integer({ min: 0, max: 1e6 }));

function flowed(from: State, seconds: number): State {
  const into = from.slice();
  flow(from, seconds, into);
  return into;
}

function assertNear(found: State, wanted: State, tolerance: number): void {
  for (const [place, value] of wanted.entries()) {
    const gap = Math.abs(scalarAt(found, place) - value);
    assert.ok(gap <= tolerance * Math.max(1, Math.abs(value)), `place ${place}: off by ${gap}`);
  }
}

/** Right-hand sides of the differential equations of model 2.2, independent of the solution. */
function slopes(state: State): Map<number, number> {
  const rate = (halfLifeSeconds: number) => Math.LN2 / halfLifeSeconds;
  const home = vectorAt(state, OFFSET.home);
  const stressRate = rate(900 * 2 ** ((home[6] ?? 0) - (home[5] ?? 0)));
  const value = (offset: number) => scalarAt(state, offset);
  const found = new Map<number, number>();
  for (let mode = 0; mode < MODE_COUNT; mode++) {
    const b = value(OFFSET.setPoint + mode);
    found.set(OFFSET.setPoint + mode, -rate(14 * DAY_SECONDS) * (b - (home[mode] ?? 0)));
    found.set(OFFSET.tendency + mode, -rate(600) * (value(OFFSET.tendency + mode) - b));
    found.set(OFFSET.risen + mode, -rate(3_600) * value(OFFSET.risen + mode));
    found.set(OFFSET.fallen + mode, -rate(3_600) * value(OFFSET.fallen + mode));
  }
  const stress = value(OFFSET.stress);
  const load = value(OFFSET.load);
  const rest = value(OFFSET.restingEnergy) - 0.4 * stress;
  found.set(OFFSET.load, -rate(43_200) * load);
  found.set(OFFSET.stress, -stressRate * (stress - 0.25 * load));
  found.set(OFFSET.energy, -rate(2_400) * (value(OFFSET.energy) - rest));
  found.set(OFFSET.unrest, -rate(600) * value(OFFSET.unrest));
  return found;
}

function nudged(state: State, by: Map<number, number>, factor: number): State {
  const next = state.slice();
  for (const [place, slope] of by) next[place] = scalarAt(state, place) + factor * slope;
  return next;
}

/** Fourth-order Runge-Kutta integration in `count` steps. */
function integrated(from: State, seconds: number, count: number): State {
  const step = seconds / count;
  let state = from;
  for (let index = 0; index < count; index++) {
    const first = slopes(state);
    const second = slopes(nudged(state, first, step / 2));
    const third = slopes(nudged(state, second, step / 2));
    const fourth = slopes(nudged(state, third, step));
    const next = state.slice();
    for (const [place, slope] of first) {
      const middle = 2 * (second.get(place) ?? 0) + 2 * (third.get(place) ?? 0);
      const sum = slope + middle + (fourth.get(place) ?? 0);
      next[place] = scalarAt(state, place) + (step / 6) * sum;
    }
    state = next;
  }
  return state;
}

const waiting = suite('an identity without observations');

waiting('has the same end state however the idle time is split (row 3)', () => {
  fc.assert(
    fc.property(reachableState, idle, idle, (state, first, second) => {
      assertNear(flowed(flowed(state, first), second), flowed(state, first + second), 1e-9);
    }),
  );
});

waiting('follows its differential equations (row 3b)', () => {
  fc.assert(
    fc.property(reachableState, fc.integer({ min: 1, max: 1_800 }), (state, seconds) => {
      const wanted = integrated(state, seconds, 60);
      assertNear(flowed(state, seconds), wanted, 1e-7);
    }),
    { numRuns: 40 },
  );
});

waiting('returns home within 400 days (row 12)', () => {
  fc.assert(
    fc.property(reachableState, (state) => {
      const rested = flowed(state, 400 * DAY_SECONDS);
      const home = vectorAt(state, OFFSET.home);
      for (let mode = 0; mode < MODE_COUNT; mode++) {
        const wanted = home[mode] ?? 0;
        assert.ok(Math.abs(scalarAt(rested, OFFSET.tendency + mode) - wanted) < 1e-6);
        assert.ok(Math.abs(scalarAt(rested, OFFSET.setPoint + mode) - wanted) < 1e-6);
      }
      for (const place of [OFFSET.stress, OFFSET.load, OFFSET.unrest, OFFSET.risen]) {
        assert.ok(scalarAt(rested, place) < 1e-6);
      }
      const missing = scalarAt(rested, OFFSET.restingEnergy) - scalarAt(rested, OFFSET.energy);
      assert.ok(missing < 1e-6);
    }),
  );
});

waiting('does not change if new and rested (row 12)', () => {
  fc.assert(
    fc.property(freshState, idle, (state, seconds) => {
      fc.pre(scalarAt(state, OFFSET.energy) === scalarAt(state, OFFSET.restingEnergy));
      assertNear(flowed(state, seconds), state, 1e-12);
    }),
  );
});

waiting('keeps its levels, counters and rollback point', () => {
  fc.assert(
    fc.property(reachableState, idle, (state, seconds) => {
      const after = flowed(state, seconds);
      for (const [place, value] of state.entries()) {
        if (!FLOWING.includes(place)) assert.is(after[place], value);
      }
    }),
  );
});

waiting('never reaches a higher stress level', () => {
  fc.assert(
    fc.property(reachableState, idle, (state, seconds) => {
      const before = scalarAt(state, OFFSET.stress);
      assert.ok(scalarAt(flowed(state, seconds), OFFSET.stress) <= Math.max(before, 0.25));
    }),
  );
});

waiting('can be updated in place, and ignores negative time', () => {
  fc.assert(
    fc.property(reachableState, idle, (state, seconds) => {
      const inPlace = state.slice();
      flow(inPlace, seconds, inPlace);
      assert.equal(inPlace, flowed(state, seconds));
      assert.equal(flowed(state, -seconds), flowed(state, 0));
    }),
  );
});

waiting.run();
