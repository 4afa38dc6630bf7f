import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { verifyStored } from '#ctl/verify/heads';
import type { InstanceStore } from '#storage/ports/instances';
import { INSTANCE_ID, instancesUnderTest } from '#test/engine/instance/instance-fixture';
import { LIFE, live } from '#test/engine/past/past-fixture';
import { SeededRandom } from '#test/simulation/seeded-random';

/** Verifies a life with resets and two models. `change` spoils one stored state. */
async function verified(spoiltCycle?: number) {
  const scene = instancesUnderTest();
  await live(scene, LIFE, new SeededRandom(7));
  await scene.flush();
  const { store } = scene;
  const spoilt: InstanceStore = {
    ...store,
    readStates: async (...asked) =>
      (await store.readStates(...asked)).map((row) => {
        if (row.generation !== 2 || row.cycle !== spoiltCycle) return row;
        return { ...row, state: `${row.state.slice(0, 8)}?${row.state.slice(9)}` };
      }),
  };
  const head = await store.readHead(INSTANCE_ID);
  assert.ok(head);
  return await verifyStored(spoilt, INSTANCE_ID, head);
}

const states = suite('a verification of stored states');

states('proves every generation, because all resets are known', async () => {
  const { kind, ...proof } = await verified();
  assert.is(kind, 'same');
  // Without the stored resets, the replay would try both modes of each reset.
  assert.equal(proof, { start: 'default', since: 3, cycles: 800 });
});

states('names the states around a wrong one', async () => {
  const replay = await verified(468);
  assert.equal(replay, {
    kind: 'different',
    differences: [
      'the state at cycle 212 of generation 2 does not lead to the next state',
      'the state at cycle 468 of generation 2 does not lead to the next state',
    ],
  });
});

states.run();
