import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newScene, SILENT } from '#test/cluster/membership/watch-fixture';
import { MANY, oneOfMany } from '#test/cluster/membership/watched-nodes';
import { turnOfEvents } from '#test/support/settled';

const alive = suite('an owner that is alive');

alive('is never sealed', async () => {
  const { live, world, reasons } = await newScene();
  await live(60);
  assert.equal([world.seals, reasons, world.bugs], [[], [], []]);
});

alive('gets one connection while its heartbeats arrive', async () => {
  const { live, world, talking } = await newScene();
  await live(5);
  assert.is(world.dialed.filter((address) => address === 'a:1').length, 1);
  talking.delete('a');
  await live(2);
  assert.ok(world.dialed.filter((address) => address === 'a:1').length > 2);
});

alive(
  'is not sealed while it is silent on the bus but answers, and its journal grows',
  async () => {
    const { live, world, talking } = await newScene();
    talking.delete('a');
    await live(40);
    assert.equal(world.seals, []);
  },
);

// A network policy that rejects connections between nodes.
alive('is not sealed when its address refuses connections', async () => {
  const { live, world } = await newScene();
  world.found.delete('a:1');
  world.lifelines.end('a:1', 'broken');
  await live(20);
  assert.equal(world.seals, []);
});

const dead = suite('a dead owner');

dead(
  'whose lifeline ends is sealed within a second, and may be taken over immediately',
  async () => {
    const { live, world, growing, talking, detector, reasons, sealed, members, isSealed } =
      await newScene();
    await live(1);
    world.end('a:1');
    for (const set of [growing, talking]) set.delete('a');
    await live(1);
    assert.ok(await isSealed('a'));
    assert.equal(reasons, ['dead']);
    assert.ok(detector.isSealed('a-1'));
    assert.ok(detector.openableMs('a-1') <= world.clock.monotonicMs());
    assert.ok(sealed.length > 0);
    assert.not(members.known().some(({ incarnation }) => incarnation === 'a-1'));
  },
);

dead('is sealed when another process answers at its address', async () => {
  const { live, world, growing, talking, reasons, isSealed } = await newScene();
  await live(1);
  world.end('a:1', { kind: 'answered', incarnation: 'a-2' });
  for (const set of [growing, talking]) set.delete('a');
  await live(1);
  assert.ok(await isSealed('a'));
  assert.equal(reasons, ['dead']);
});

dead(
  'is sealed if its address is this node’s own, because a node has one incarnation at a time',
  async () => {
    const { world, detector, live, reasons, isSealed } = await newScene();
    await world.stored.begin('before', 'me:1');
    world.found.set('me:1', SILENT);
    detector.watch(new Set(['before']));
    await live(1);
    assert.ok(detector.isSealed('before'));
    assert.equal([reasons, await isSealed('a')], [['dead'], false]);
  },
);

// A process that started again on its file waited for the next period of 250 ms.
dead('is sealed at once if no other process uses the store', async () => {
  const { world, detector } = await newScene([], true);
  await world.stored.begin('before', 'me:1');
  detector.watch(new Set(['before']));
  await turnOfEvents();
  assert.ok(detector.isSealed('before'));
});

dead('is not sealed while the store does not answer, and is sealed when it does', async () => {
  const { live, world, growing, talking, detector } = await newScene();
  await live(1);
  world.end('a:1');
  for (const set of [growing, talking]) set.delete('a');
  world.isStoreDown = true;
  await live(3);
  assert.not(detector.isSealed('a-1'));
  world.isStoreDown = false;
  await live(1);
  assert.ok(detector.isSealed('a-1'));
});

dead('is reported as a bug, and not sealed, when it has no journal', async () => {
  const { live, world, detector } = await newScene();
  detector.watch(new Set(['a-1', 'no-journal']));
  await live(1);
  assert.equal([world.seals, detector.isSealed('no-journal')], [[], false]);
  assert.match(String(world.bugs[0]), /no-journal, which has no journal/);
  assert.is(world.bugs.length, 1, 'the missing journal is reported once');
});

const known = suite('an owner that another node has sealed');

known('is detected, and may be taken over only after its read lease', async () => {
  const { world, detector, live, growing } = await newScene();
  growing.delete('a');
  await world.stored.seal('a-1');
  await live(2);
  assert.ok(detector.isSealed('a-1'));
  assert.ok(detector.openableMs('a-1') > world.clock.monotonicMs());
  assert.equal(world.seals, []);
});

known(
  'is detected after a suspicion on the bus, and the suspicion is published again',
  async () => {
    const node = oneOfMany(false);
    const { world, detector, live } = await newScene(MANY);
    const suspicions: string[] = [];
    world.bus.subscribe('test.engine.suspect', (suspicion) =>
      suspicions.push(Buffer.from(suspicion).toString()),
    );
    await world.stored.seal(`${node}-1`);
    await live(5);
    assert.not(detector.isSealed(`${node}-1`));
    world.bus.publish('test.engine.suspect', Buffer.from(`${node}-1`));
    await live(2);
    assert.ok(detector.isSealed(`${node}-1`));
    assert.equal(suspicions, [`${node}-1`, `${node}-1`]);
  },
);

alive('is examined for only a few seconds after a wrong suspicion', async () => {
  const node = oneOfMany(false);
  const { world, live } = await newScene(MANY);
  await live(5);
  assert.not(world.heads.includes(`${node}-1`));
  world.bus.publish('test.engine.suspect', Buffer.from(`${node}-1`));
  await live(1);
  assert.ok(world.heads.includes(`${node}-1`));
  await live(4);
  world.heads.length = 0;
  await live(5);
  assert.not(world.heads.includes(`${node}-1`));
});

known('is forgotten when it owns no more shards', async () => {
  const { world, detector, live } = await newScene();
  await world.stored.seal('a-1');
  await live(2);
  detector.watch(new Set(['b-1', 'c-1']));
  assert.not(detector.isSealed('a-1'));
  assert.is(detector.openableMs('a-1'), Number.POSITIVE_INFINITY);
});

for (const suite of [alive, dead, known]) suite.run();
