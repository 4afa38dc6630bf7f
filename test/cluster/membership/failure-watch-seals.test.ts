import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  OPEN_AFTER_SEAL_MS,
  STALLED_SEAL_PAUSE_MS,
  UNREACHABLE_MS,
} from '#cluster/failover-timing';
import { newScene, SILENT } from '#test/cluster/membership/watch-fixture';
import { MANY, oneOfMany } from '#test/cluster/membership/watched-nodes';

const stalled = suite('an owner whose journal does not grow');

/** Freezes a node like SIGSTOP: the kernel accepts connections, but the process does not answer. */
function freeze(
  { world, growing, talking }: Awaited<ReturnType<typeof newScene>>,
  node: string,
): void {
  world.found.set(`${node}:1`, SILENT);
  for (const set of [growing, talking]) set.delete(node);
}

stalled('is sealed after 5 s, and may be taken over when its read lease has ended', async () => {
  const scene = await newScene();
  const { live, world, detector, reasons, isSealed } = scene;
  freeze(scene, 'a');
  await live(4);
  assert.not(await isSealed('a'));
  await live(3);
  assert.equal(reasons, ['stalled']);
  const waitMs = detector.openableMs('a-1') - world.clock.monotonicMs();
  assert.ok(waitMs > 500 && waitMs <= OPEN_AFTER_SEAL_MS.engine, `${waitMs}`);
});

stalled('is sealed although it sends heartbeats, and is then not present', async () => {
  const { live, growing, reasons, members } = await newScene();
  growing.delete('a');
  await live(8);
  assert.equal(reasons, ['stalled']);
  assert.not(members.present().some(({ node }) => node === 'a'));
});

stalled('is not sealed while this node’s own appends are slow', async () => {
  const scene = await newScene();
  scene.growing.delete('a');
  scene.slow(1_000);
  await scene.live(14);
  assert.equal(scene.world.seals, []);
  scene.slow(0);
  await scene.live(7);
  assert.equal(scene.reasons, ['stalled']);
});

stalled('is not sealed while the store stalls, when no journal grows', async () => {
  const scene = await newScene();
  scene.growing.clear();
  scene.world.readMs = 6_000;
  await scene.live(6);
  scene.world.readMs = 0;
  for (const node of ['a', 'b', 'c']) scene.growing.add(node);
  await scene.live(12);
  assert.equal(scene.world.seals, []);
});

stalled('causes one seal in 10 s, however many such owners there are', async () => {
  const scene = await newScene();
  for (const node of ['a', 'b', 'c']) freeze(scene, node);
  await scene.live(8);
  assert.is(scene.world.seals.length, 1);
  await scene.live(STALLED_SEAL_PAUSE_MS / 1_000 - 3);
  assert.is(scene.world.seals.length, 1);
  await scene.live(5);
  assert.is(scene.world.seals.length, 2);
});

stalled('is sealed only by the next three nodes on the ring', async () => {
  for (const isMine of [false, true]) {
    const { live, growing, reasons } = await newScene(MANY);
    // The node sends heartbeats and answers, so only its journal shows the fault.
    growing.delete(oneOfMany(isMine));
    await live(12);
    assert.equal(reasons, isMine ? ['stalled'] : []);
  }
});

stalled('is not sealed by other nodes, even if they receive suspicions about it', async () => {
  const node = oneOfMany(false);
  const { world, live, growing, reasons } = await newScene(MANY);
  growing.delete(node);
  for (let i = 0; i < 12; i += 1) {
    world.bus.publish('test.engine.suspect', Buffer.from(`${node}-1`));
    await live(1);
  }
  assert.ok(world.heads.includes(`${node}-1`));
  assert.equal(reasons, []);
});

const unreachable = suite('an owner that is silent');

/**
 * Stops the heartbeats of a node and its answers to probes. Its address accepts connections, and
 * its journal continues to grow.
 */
function hide({ world, talking }: Awaited<ReturnType<typeof newScene>>, node: string): void {
  world.found.set(`${node}:1`, SILENT);
  talking.delete(node);
}

unreachable(
  'is sealed after 15 s if it is unreachable and this node hears the other owners',
  async () => {
    const scene = await newScene();
    hide(scene, 'a');
    await scene.live(UNREACHABLE_MS / 1_000 - 1);
    assert.equal(scene.world.seals, []);
    await scene.live(2);
    assert.equal([scene.world.seals, scene.reasons], [['a-1'], ['unreachable']]);
    const waitMs = scene.detector.openableMs('a-1') - scene.world.clock.monotonicMs();
    assert.ok(waitMs > 0);
  },
);

unreachable('is not sealed when this node hears no more than half of the owners', async () => {
  const scene = await newScene();
  for (const node of ['a', 'b']) hide(scene, node);
  await scene.live(60);
  assert.equal(scene.world.seals, []);
});

unreachable('is not sealed while it can be reached', async () => {
  const scene = await newScene();
  scene.talking.delete('a');
  await scene.live(60);
  assert.equal(scene.world.seals, []);
});

const share = suite('a node that hears the owners of shards');

share('hears enough with half of the owners, itself included', async () => {
  const scene = await newScene();
  assert.ok(scene.detector.hearsEnough);
  for (const node of ['a', 'b']) hide(scene, node);
  await scene.live(5);
  assert.ok(scene.detector.hearsEnough);
  hide(scene, 'c');
  await scene.live(5);
  assert.not(scene.detector.hearsEnough);
});

share('hears enough if the silent owners are sealed', async () => {
  const scene = await newScene();
  for (const node of ['b', 'c']) hide(scene, node);
  await scene.live(1);
  scene.world.end('a:1');
  for (const set of [scene.growing, scene.talking]) set.delete('a');
  await scene.live(5);
  assert.ok(scene.detector.isSealed('a-1'));
  assert.ok(scene.detector.hearsEnough);
});

for (const suite of [stalled, unreachable, share]) suite.run();
