import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newScene, SHARDS, STARTUP_GRACE_MS, shardsOf } from '#test/cluster/controller-fixture';
import { silence } from '#test/cluster/membership/cluster-fixture';

const outage = suite('when every owner has died');

/**
 * Two nodes own all shards and have just died. Their processes have started again, without joining
 * yet.
 */
async function newOutage() {
  const scene = await newScene();
  for (const node of ['a', 'b']) await scene.join(node);
  await scene.putAll((shard) => (shard % 2 === 0 ? 'a-1' : 'b-1'));
  for (const node of ['a', 'b']) scene.restart(node);
  return scene;
}

outage('a single node that returns waits for the others', async () => {
  const scene = await newOutage();
  await scene.live(STARTUP_GRACE_MS - 500);
  assert.is(scene.host.open.size, 0);
  await scene.live(4_000);
  assert.is(scene.host.open.size, SHARDS);
});

outage(
  'the nodes claim without further waiting when they are as many as the owners were',
  async () => {
    const scene = await newOutage();
    await scene.join('c');
    await scene.live(STARTUP_GRACE_MS - 500);
    assert.equal(scene.openNow(), shardsOf('me', ['c', 'me']));
  },
);

const first = suite('shards that no node has ever owned');

first(
  'are claimed by the node that the ring assigns, after the start-up grace period',
  async () => {
    const scene = await newScene();
    await scene.join('a');
    await scene.live(STARTUP_GRACE_MS - 500);
    assert.is(scene.host.open.size, 0);
    await scene.live(2_000);
    assert.equal(scene.openNow(), shardsOf('me', ['a', 'me']));
    assert.ok(scene.moves.every((reason) => reason === 'first'));
    assert.is(scene.host.open.get(scene.openNow()[0] ?? -1), 1);
  },
);

first('are not claimed by a node without a bus', async () => {
  const scene = await newScene();
  scene.net.isConnected = false;
  await scene.live(6_000);
  assert.is(scene.changes.length, 0);
  scene.net.isConnected = true;
  await scene.live(1_500);
  assert.is(scene.host.open.size, SHARDS);
});

first('are opened if a claim that timed out was applied', async () => {
  const scene = await newScene();
  scene.twists.set(3, [
    async (apply) => {
      await apply();
      return silence();
    },
  ]);
  await scene.live(6_000);
  assert.is(scene.host.open.get(3), 1);
  assert.is(scene.changes.filter(({ shard }) => shard === 3).length, 1);
});

first('are opened if a claim fails because its own earlier attempt succeeded', async () => {
  const scene = await newScene();
  scene.twists.set(3, [
    async (apply) => {
      await apply();
      return await apply();
    },
  ]);
  await scene.live(6_000);
  assert.is(scene.host.open.get(3), 1);
});

first('are not opened if another node claimed them first', async () => {
  const scene = await newScene();
  await scene.join('a');
  const [shard = 0] = shardsOf('me', ['a', 'me']);
  scene.twists.set(shard, [
    async (apply) => {
      await scene.put(shard, 'a-1');
      return await apply();
    },
  ]);
  await scene.live(4_000);
  assert.not(scene.host.open.has(shard));
  assert.equal(scene.fences, []);
});

const held = suite('a shard that is open on this node');

held('ends this incarnation when the row names another owner at a higher epoch', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  await scene.put(5, 'thief');
  await scene.live(1_500);
  assert.equal(scene.fences, ['another node has taken shard 5']);
});

held('ends this incarnation when its row has an epoch that this node did not write', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  await scene.put(5, 'me-1');
  await scene.live(1_500);
  assert.is(scene.fences.length, 1);
});

held('stays open while the table cannot be read and the bus is disconnected', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  scene.net.isTableDown = true;
  scene.net.isConnected = false;
  await scene.live(10_000);
  assert.equal([scene.host.open.size, scene.fences.length], [SHARDS, 0]);
});

held('is not checked any more after this incarnation has ended', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  await scene.put(5, 'thief');
  await scene.live(1_500);
  const { loads, changes, host } = scene;
  const [loaded, changed, steps] = [loads.count, changes.length, host.steps.length];
  scene.controller.wake();
  await scene.live(5_000);
  assert.equal([loads.count, changes.length, host.steps.length], [loaded, changed, steps]);
});

for (const suite of [outage, first, held]) suite.run();
