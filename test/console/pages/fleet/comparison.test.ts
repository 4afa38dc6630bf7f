import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { actionsOf, factsOf, furthestText, type Side } from '#pages/fleet/comparison';
import { fakeInstance } from '#test/console/pages/fakes/fake-instances';

const differences = suite('the differences of two instances');

/** One side of a comparison: an instance with these strengths, before its first observation. */
function sideOf(strengths: readonly number[], energy = 0.8): Side {
  const { report, ...texts } = fakeInstance(1, { name: 'Ada', strengths, energy });
  const { snapshot, contract } = report;
  const { cycle: cycle_count, energy_level, stress_state, stability_index } = snapshot;
  const instance = { ...texts, cycle_count, energy_level, stress_state, stability_index };
  return { instance, snapshot, contract, drift: undefined };
}

differences('of modes are the three largest, in signed points', () => {
  const first = sideOf([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]);
  const second = sideOf([0.51, 0.9, 0.5, 0.3, 0.5, 0.625, 0.5]);
  const text =
    'Furthest apart: Exploration (+40 points), Assertion (−20 points), Identity (+12.5 points).';
  assert.is(furthestText(first, second), text);
  assert.is(furthestText(first, first), 'No mode differs.');
});

differences('of facts are empty if both sides are equal', () => {
  const facts = factsOf(sideOf([0.8], 0.8), sideOf([0.8], 0.79));
  const byName = new Map(facts.map(({ what, difference }) => [what, difference]));
  assert.equal(
    [byName.get('Energy'), byName.get('Cycle'), byName.get('Stress')],
    ['−1 point', '', ''],
  );
});

differences('of actions name each action once', () => {
  const { contract } = sideOf([0.8]);
  const [first, second] = [
    { ...contract, allowed_actions: ['explore', 'defer'], forbidden_actions: ['pivot', 'comfort'] },
    { ...contract, allowed_actions: ['explore', 'pivot'], forbidden_actions: ['comfort'] },
  ];
  assert.equal(actionsOf(first, second), {
    differing: [
      { action: 'defer', first: 'allowed', second: 'open' },
      { action: 'pivot', first: 'forbidden', second: 'allowed' },
    ],
    allowed: ['explore'],
    forbidden: ['comfort'],
  });
});

differences.run();
