import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { bandOf, energyBandAfter, OFFSET, stressLevelAfter } from '#identity/state';
import { afterAnyCycle, scalarAt } from '#test/support/arbitrary-identity';

/** Thresholds of model 2.4 and 2.5, copied from the document. */
const STRESS_UP = [0.35, 0.58, 0.8];
const STRESS_DOWN = [0.25, 0.47, 0.68];
const ENERGY_DOWN = [0.15, 0.3, 0.5];

const ladder = suite('the levels of stress and energy');

ladder('match the thresholds below and above the current stress and energy (row 11)', () => {
  afterAnyCycle((after) => {
    const level = scalarAt(after, OFFSET.stressLevel);
    const stress = scalarAt(after, OFFSET.stress);
    assert.ok(stress >= (STRESS_DOWN[level - 1] ?? 0) && stress < (STRESS_UP[level] ?? 2));
    const band = scalarAt(after, OFFSET.energyBand);
    const energy = scalarAt(after, OFFSET.energy);
    assert.ok(energy >= (ENERGY_DOWN[band - 1] ?? 0));
    assert.ok(energy < (ENERGY_DOWN[band] ?? 2) + 0.03);
  });
});

/** Number of level changes over `values`. */
function switches(
  levelAfter: (value: number, level: number) => number,
  start: number,
  values: readonly number[],
): number {
  let level = start;
  let count = 0;
  for (const value of values) {
    const next = levelAfter(value, level);
    if (next !== level) count++;
    level = next;
  }
  return count;
}

ladder('switch at most once under noise around a threshold (row 11)', () => {
  const noise = fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 2 });
  for (const [index, threshold] of [...STRESS_UP, ...STRESS_DOWN].entries()) {
    const start = index % STRESS_UP.length;
    fc.assert(
      fc.property(noise, fc.constantFrom(start, start + 1), (draws, level) => {
        const values = draws.map((draw) => threshold + 0.04 * draw);
        assert.ok(switches(stressLevelAfter, level, values) <= 1);
      }),
    );
  }
  for (const [start, threshold] of ENERGY_DOWN.entries()) {
    fc.assert(
      fc.property(noise, fc.constantFrom(start, start + 1), (draws, level) => {
        const values = draws.map((draw) => threshold + 0.014 * draw);
        assert.ok(switches(energyBandAfter, level, values) <= 1);
      }),
    );
  }
});

ladder('can rise and fall by several steps in one cycle', () => {
  assert.is(stressLevelAfter(0.9, 0), 3);
  assert.is(stressLevelAfter(0.1, 3), 0);
  assert.is(stressLevelAfter(0.5, 3), 2);
  assert.is(energyBandAfter(0.53, 0), 3);
  assert.is(energyBandAfter(0.52, 0), 2);
  assert.is(energyBandAfter(0.1, 3), 0);
});

ladder('are entered at the entry threshold and left below the exit threshold', () => {
  for (const [below, up] of STRESS_UP.entries()) {
    assert.is(stressLevelAfter(up, below), below + 1, `entered at ${up}`);
    assert.is(stressLevelAfter(up - 1e-9, below), below);
  }
  for (const [below, down] of STRESS_DOWN.entries()) {
    assert.is(stressLevelAfter(down, below + 1), below + 1, `kept at ${down}`);
    assert.is(stressLevelAfter(down - 1e-9, below + 1), below);
  }
  for (const [below, down] of ENERGY_DOWN.entries()) {
    assert.is(energyBandAfter(down, below + 1), below + 1, `kept at ${down}`);
    assert.is(energyBandAfter(down - 1e-9, below + 1), below);
    assert.is(energyBandAfter(down + 0.03, below), below + 1, `entered at ${down + 0.03}`);
  }
});

ladder('never exceed the highest level or fall below the lowest', () => {
  assert.equal([stressLevelAfter(5, 3), stressLevelAfter(-5, 0)], [3, 0]);
  assert.equal([energyBandAfter(5, 3), energyBandAfter(-5, 0), bandOf(-5)], [3, 0, 0]);
});

ladder('start without hysteresis: energy alone determines the first band', () => {
  assert.equal([0, 0.149, 0.15, 0.29, 0.3, 0.49, 0.5, 1].map(bandOf), [0, 0, 1, 1, 2, 2, 3, 3]);
});

ladder.run();
