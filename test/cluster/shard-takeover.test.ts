import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { OPEN_AFTER_SEAL_MS } from '#cluster/failover-timing';
import { newScene, newSceneOfOwner, SHARDS, shardsOf } from '#test/cluster/controller-fixture';
import { silence } from '#test/cluster/membership/cluster-fixture';

const dead = suite('the shards of a dead node');

dead('are recovered, then claimed, then opened, within a second', async () => {
  const scene = await newSceneOfOwner();
  assert.is(scene.host.open.size, 0);
  scene.kill('a');
  await scene.live(1_000);
  assert.is(scene.host.open.size, SHARDS);
  const [recoverTail = ''] = scene.host.steps;
  assert.is(recoverTail, `recoverTail a-1 ${shardsOf('a', ['a']).map((shard) => `${shard}@2`)}`);
  assert.ok([...scene.host.open.values()].every((epoch) => epoch === 2));
  assert.ok(scene.moves.every((reason) => reason === 'takeover'));
});

for (const isHeard of [true, false]) {
  const what = isHeard
    ? 'immediately when all other owners are heard'
    : 'only after the grace period when an owner is not heard';
  dead(`are claimed by a node that has just started, ${what}`, async () => {
    const scene = await newScene();
    await scene.world.begin('lost');
    scene.restart('lost');
    if (isHeard) await scene.join('a');
    else await scene.world.begin('a');
    await scene.putAll((shard) => (shard === 0 ? 'a-1' : 'lost-1'));
    await scene.live(1_500);
    const mine = shardsOf('me', isHeard ? ['a', 'me'] : ['me']).filter((shard) => shard !== 0);
    assert.equal(scene.openNow(), isHeard ? mine : []);
    await scene.listen();
    assert.equal(scene.openNow(), mine);
  });
}

dead('are not claimed before their records are durable', async () => {
  const scene = await newSceneOfOwner();
  const { promise, resolve } = Promise.withResolvers<void>();
  scene.host.recoveryEnds = promise;
  scene.kill('a');
  await scene.live(10_000);
  assert.equal([scene.changes.length, scene.host.open.size], [0, 0]);
  resolve();
  await scene.live(500);
  assert.is(scene.host.open.size, SHARDS);
});

dead('are recovered again after a failure, and not claimed in between', async () => {
  const scene = await newSceneOfOwner();
  scene.host.isStoreDown = true;
  scene.kill('a');
  await scene.live(1_000);
  assert.is(scene.changes.length, 0);
  scene.host.isStoreDown = false;
  await scene.live(2_000);
  assert.is(scene.host.open.size, SHARDS);
});

dead(
  'are recovered only once if a claim times out, and opened when its outcome is known',
  async () => {
    const scene = await newSceneOfOwner();
    scene.twists.set(3, [
      async (apply) => {
        await apply();
        return silence();
      },
    ]);
    scene.twists.set(4, [async () => silence()]);
    scene.kill('a');
    await scene.live(4_000);
    assert.equal([scene.host.open.get(3), scene.host.open.get(4)], [2, 2]);
    assert.is(scene.host.steps.filter((step) => step.startsWith('recoverTail')).length, 1);
  },
);

dead('lose their recovered records when another node has claimed them', async () => {
  const scene = await newSceneOfOwner();
  await scene.join('b');
  const mine = shardsOf('me', ['b', 'me']);
  const [shard = 0] = mine;
  scene.twists.set(shard, [
    async () => {
      await scene.put(shard, 'b-1');
      return silence();
    },
  ]);
  scene.kill('a');
  await scene.live(3_000);
  assert.not(scene.host.open.has(shard));
  assert.not(scene.host.isRecovered({ shard, epoch: 2 }));
});

dead('are claimed only after the read lease of the node if its death is not proven', async () => {
  const scene = await newSceneOfOwner();
  scene.talking.delete('a');
  scene.world.found.set('a:1', { kind: 'silent' });
  await scene.world.stored.seal('a-1');
  await scene.live(2_000);
  assert.ok(scene.detector.isSealed('a-1'));
  assert.equal([scene.changes.length, scene.host.open.size], [0, 0]);
  assert.is(scene.host.steps.length, 1, 'the records are recovered meanwhile');
  await scene.live(OPEN_AFTER_SEAL_MS.engine + 3_000);
  assert.is(scene.host.open.size, SHARDS);
});

dead('are claimed immediately when the proof of death arrives', async () => {
  const scene = await newSceneOfOwner();
  scene.world.found.set('a:1', { kind: 'silent' });
  await scene.world.stored.seal('a-1');
  scene.talking.delete('a');
  await scene.live(1_500);
  assert.is(scene.host.open.size, 0);
  scene.kill('a');
  await scene.live(500);
  assert.is(scene.host.open.size, SHARDS);
});

dead('are not claimed by a node that hears fewer than half of the owners', async () => {
  const scene = await newScene();
  const hidden = ['b', 'c', 'd'];
  await scene.join('a');
  for (const node of hidden) await scene.world.begin(node);
  await scene.putAll((shard) => `${['a', ...hidden][shard % 4]}-1`);
  // The hidden nodes run, but `me` does not receive their heartbeats.
  const liveOn = async () => {
    for (const node of hidden) await scene.world.append(node);
    await scene.live(500);
  };
  for (let i = 0; i < 10; i += 1) await liveOn();
  scene.kill('a');
  for (let i = 0; i < 10; i += 1) await liveOn();
  assert.ok(scene.detector.isSealed('a-1'));
  assert.is(scene.changes.length, 0);
  for (const node of hidden.slice(1)) scene.talking.add(node);
  for (let i = 0; i < 3; i += 1) await liveOn();
  assert.ok(scene.host.open.size > 0);
});

dead.run();
