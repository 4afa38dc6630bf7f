import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { instancesUnderTest } from '#test/engine/instance/instance-fixture';
import { LIFE, live, pastReadsOf } from '#test/engine/past/past-fixture';
import { SeededRandom } from '#test/simulation/seeded-random';

const SEED = 20_261_129;

const past = suite('past states of an instance with resets and two models');

past('equal the answers of that time, bit for bit, at 10,000 random cycles', async () => {
  const random = new SeededRandom(SEED);
  const scene = instancesUnderTest();
  const lived = await live(scene, LIFE, random);
  const generations = [...lived].filter(([, states]) => states.length > 0);
  const reads = pastReadsOf(scene);
  for (let round = 0; round < 20; round += 1) {
    // Half of the states are not stored yet in the first rounds.
    if (round === 10) await scene.flush();
    const [generation, states] = generations[round % generations.length] ?? [1, []];
    const cycles = Array.from({ length: 500 }, () => random.whole(1, states.length));
    const texts = await reads.texts(cycles, generation);
    const wrong = cycles.findIndex((cycle, index) => texts[index] !== states[cycle - 1]);
    assert.is(wrong, -1, `seed ${SEED}, generation ${generation}, cycle ${cycles[wrong]}`);
  }
});
past.run();
