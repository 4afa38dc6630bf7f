import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LEAVE_SPREAD_MS, MOVE_COOLDOWN_MS, MOVES_IN_FLIGHT_MAX } from '#cluster/failover-timing';
import { newScene, newSceneOfOwner, SHARDS, shardsOf } from '#test/cluster/controller-fixture';
import { silence } from '#test/cluster/membership/cluster-fixture';
import { stateOf } from '#test/support/settled';

const moved = suite('a shard whose target is another node');

moved('is closed, then given, and not opened here again', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  await scene.join('a');
  await scene.live(6_000);
  assert.equal(scene.openNow(), shardsOf('me', ['a', 'me']));
  const rows = await scene.rowsNow();
  for (const shard of shardsOf('a', ['a', 'me'])) assert.is(rows.get(shard), 'a-1@2');
  assert.is(scene.moves.filter((reason) => reason === 'handed_off').length, SHARDS / 2);
});

moved('stays open here until the views have agreed for 3 s', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  await scene.join('a');
  await scene.live(2_500);
  assert.is(scene.host.open.size, SHARDS);
});

moved('stays open while the receiver’s journal has not begun', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  scene.talking.add('a');
  scene.world.found.set('a:1', { kind: 'answered', incarnation: 'a-1' });
  await scene.live(8_000);
  assert.is(scene.host.open.size, SHARDS);
  assert.not(scene.host.steps.some((step) => step.startsWith('close')));
});

moved('is no longer a move in flight after a failed attempt', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  scene.talking.add('a');
  scene.world.found.set('a:1', { kind: 'answered', incarnation: 'a-1' });
  const attempts = 1 + Math.ceil(MOVES_IN_FLIGHT_MAX / shardsOf('a', ['a', 'me']).length);
  await scene.live(attempts * (MOVE_COOLDOWN_MS + 1_000));
  assert.is(scene.host.open.size, SHARDS);
  await scene.world.begin('a');
  await scene.live(MOVE_COOLDOWN_MS + 2_000);
  assert.equal(scene.openNow(), shardsOf('me', ['a', 'me']));
});

moved('is not given before it is closed, nor reopened at its epoch', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  const { promise, resolve } = Promise.withResolvers<void>();
  scene.host.closeEnds = () => promise;
  await scene.join('a');
  await scene.live(6_000);
  assert.is((await scene.rowsNow()).get(shardsOf('a', ['a', 'me'])[0] ?? -1), 'me-1@1');
  for (const shard of shardsOf('a', ['a', 'me'])) scene.members.announce(shard, 1);
  await scene.live(1_000);
  assert.equal(scene.openNow(), shardsOf('me', ['a', 'me']));
  resolve();
  await scene.live(500);
  assert.is((await scene.rowsNow()).get(shardsOf('a', ['a', 'me'])[0] ?? -1), 'a-1@2');
});

moved('is given after a failed close, and never reopened at its epoch', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  scene.host.isCloseBroken = true;
  await scene.join('a');
  await scene.live(6_000);
  scene.host.isCloseBroken = false;
  await scene.live(2_000);
  const rows = await scene.rowsNow();
  for (const shard of shardsOf('a', ['a', 'me'])) assert.is(rows.get(shard), 'a-1@2');
  const opened = scene.host.steps.filter((step) => step.startsWith('open'));
  assert.is(new Set(opened).size, opened.length);
});

moved('returns at a new epoch when the receiver dies before it owns the shard', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  const [shard = 0] = shardsOf('a', ['a', 'me']);
  scene.twists.set(
    shard,
    Array.from({ length: 3 }, () => async () => silence()),
  );
  const { promise, resolve } = Promise.withResolvers<void>();
  scene.host.closeEnds = () => promise;
  await scene.join('a');
  await scene.live(5_000);
  scene.kill('a');
  scene.members.forget('a-1');
  resolve();
  await scene.live(3_000);
  assert.is(scene.host.open.get(shard), 2);
  assert.is((await scene.rowsNow()).get(shard), 'me-1@2');
});

moved('is opened once by the node that its row names, despite repeated announcements', async () => {
  const scene = await newScene();
  await scene.joinAsOwner('a');
  await scene.live(3_500);
  await scene.put(2, 'me-1');
  for (let i = 0; i < 3; i += 1) {
    scene.members.announceFor({ incarnation: 'me-1', address: 'me:1' }, { shard: 2, epoch: 2 });
    await scene.live(500);
  }
  assert.equal(
    scene.host.steps.filter((step) => step.includes('2@')),
    ['open 2@2'],
  );
  assert.equal(scene.moves, ['given']);
});

const leaving = suite('a node that leaves');

leaving('gives all shards to other nodes, one by one, and is then done', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  await scene.join('a');
  const left = scene.leave();
  const givenAway = async () =>
    [...(await scene.rowsNow()).values()].filter((row) => row === 'a-1@2').length;
  await scene.live(LEAVE_SPREAD_MS / 2);
  const half = await givenAway();
  assert.ok(half > 0 && half <= 1 + SHARDS / 2, `${half} shards have moved in half of the time`);
  await scene.live(LEAVE_SPREAD_MS / 2);
  assert.equal(await stateOf(left), { value: undefined });
  assert.ok([...(await scene.rowsNow()).values()].every((row) => row === 'a-1@2'));
});

leaving(
  'gives away a shard whose row names the node, even if the node has not opened it yet',
  async () => {
    const scene = await newScene();
    await scene.joinAsOwner('a');
    await scene.live(4_000);
    await scene.put(0, 'me-1');
    const left = scene.leave().then(() => scene.controller[Symbol.dispose]());
    await scene.live(2_000);
    assert.equal(await stateOf(left), { value: undefined });
    assert.is((await scene.rowsNow()).get(0), 'a-1@3');
  },
);

leaving('is done when its incarnation ends', async () => {
  const scene = await newScene();
  const left = scene.leave();
  scene.controller[Symbol.dispose]();
  await scene.live(1_000);
  assert.equal(await stateOf(left), { value: undefined });
});

leaving('closes all shards when no other node exists, and keeps the rows', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  const changed = scene.changes.length;
  const left = scene.leave();
  await scene.live(2_000);
  assert.equal(await stateOf(left), { value: undefined });
  assert.is(scene.host.steps.filter((step) => step.startsWith('close')).length, SHARDS);
  assert.is(scene.changes.length, changed);
  const loaded = scene.loads.count;
  await scene.live(2_000);
  assert.ok(scene.loads.count - loaded <= 3, 'the table is not polled without pause');
});

// A shard could not send its last transitions to a feed in a closed shard, and stayed unstored.
leaving(
  'keeps the receivers of every shard until no shard sends, without another node',
  async () => {
    const scene = await newScene();
    await scene.live(4_000);
    const { promise, resolve } = Promise.withResolvers<void>();
    scene.host.closeEnds = (shard) => (shard === 0 ? promise : Promise.resolve());
    const left = scene.leave();
    await scene.live(2_000);
    assert.equal([scene.host.open.size, scene.host.closedLast], [0, []]);
    resolve();
    await scene.live(1_000);
    assert.equal(await stateOf(left), { value: undefined });
    assert.is(scene.host.closedLast.length, SHARDS);
  },
);

leaving('waits for shards that are closing', async () => {
  const scene = await newScene();
  await scene.live(4_000);
  const { promise, resolve } = Promise.withResolvers<void>();
  scene.host.closeEnds = () => promise;
  const left = scene.leave();
  await scene.live(3_000);
  assert.is(await stateOf(left), 'pending');
  resolve();
  await scene.live(1_000);
  assert.equal(await stateOf(left), { value: undefined });
});

leaving('claims no more shards', async () => {
  const scene = await newSceneOfOwner();
  const left = scene.leave();
  scene.kill('a');
  await scene.live(4_000);
  assert.equal(await stateOf(left), { value: undefined });
  assert.is(scene.changes.length, 0);
});

for (const suite of [moved, leaving]) suite.run();
