import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DRIFT_LEVELS } from '#identity/drift';
import { MODEL_1_1 } from '#identity/model';
import { OFFSET, STATE_LENGTH, STRESS_STATES } from '#identity/state';
import { GOLDEN_CASES, GOLDEN_MEMORIES, HIDDEN, live } from '#test/identity/golden-case';
import { scalarAt } from '#test/support/arbitrary-identity';

/** Tolerance for latent values. Source: model 7.2. */
const LATENT_TOLERANCE = 1e-9;

const golden = suite('a history recorded with the model');

golden('is one of ten cases', () => {
  assert.equal(
    GOLDEN_CASES.map(({ id }) => id),
    ['G1', 'G2', 'G3', 'G4', 'G5', 'G6', 'G7', 'G8', 'G9', 'G10'],
  );
});

for (const recorded of GOLDEN_CASES) {
  golden(`leads to the recorded latent values: ${recorded.id}, ${recorded.title}`, () => {
    const state = live(recorded);
    for (const [name, offset] of Object.entries(HIDDEN)) {
      const wanted = [recorded.final_hidden[name as keyof typeof HIDDEN]].flat();
      for (const [place, value] of wanted.entries()) {
        const found = scalarAt(state, offset + place);
        const gap = Math.abs(found - value);
        assert.ok(gap <= LATENT_TOLERANCE, `${name}[${place}] is ${found}, not ${value}`);
      }
    }
  });

  golden(`has the recorded levels after each cycle: ${recorded.id}`, () => {
    const levels: (string | undefined)[] = [];
    const stressStates: (string | undefined)[] = [];
    live(recorded, (state) => {
      levels.push(DRIFT_LEVELS[scalarAt(state, OFFSET.driftLevel)]);
      stressStates.push(STRESS_STATES[scalarAt(state, OFFSET.stressLevel)]);
    });
    assert.equal(levels, recorded.levels);
    assert.equal(stressStates, recorded.stress_states);
  });
}

for (const recorded of GOLDEN_CASES) {
  golden(`leads to the recorded lists and style of model 1.1: ${recorded.id}`, () => {
    const memories: number[][] = [];
    live(recorded, (state) => memories.push([...state.subarray(STATE_LENGTH)]), MODEL_1_1);
    assert.equal(memories, GOLDEN_MEMORIES[recorded.id]);
  });
}

golden.run();
