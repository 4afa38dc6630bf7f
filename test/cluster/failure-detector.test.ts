import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  OPEN_AFTER_SEAL_MS,
  STALLED_SEAL_PAUSE_MS,
  UNREACHABLE_MS,
  WATCHERS,
} from '#cluster/bounds';
import { FailureDetector } from '#cluster/failure-detector';
import { nodesAfter } from '#cluster/ring';
import { ClusterWorld } from '#test/cluster/cluster-fixture';
import { pass } from '#test/support/passing';

/** `me` watching others that own shards, whose processes answer and whose journals grow. */
async function newScene(others: readonly string[] = ['a', 'b', 'c']) {
  const world = new ClusterWorld();
  const members = world.members('me');
  const grounds: string[] = [];
  const told: string[] = [];
  let slowestMs = 0;
  const detector = new FailureDetector(
    {
      service: 'engine',
      prefix: 'test',
      incarnation: 'me-1',
      node: 'me',
      address: 'me:1',
      isDirect: true,
    },
    {
      ...world,
      members,
      takeSlowestAppendMs: () => slowestMs,
      onSealed: (reason) => grounds.push(reason),
      onBug: (error) => world.bugs.push(error),
    },
  );
  detector.onSealed(() => told.push('sealed'));
  for (const other of others) await world.begin(other);
  detector.watch(new Set(['me-1', ...others.map((other) => `${other}-1`)]));
  const [talking, growing] = [new Set(others), new Set(others)];
  /** Lets seconds pass in which those who talk and grow do. */
  const live = async (seconds: number): Promise<void> => {
    for (let i = 0; i < seconds * 2; i += 1) {
      for (const node of talking) world.say(node);
      for (const node of growing) await world.append(node);
      await pass(world.clock, 500);
    }
  };
  const slow = (ms: number) => {
    slowestMs = ms;
  };
  const isSealed = async (node: string) =>
    (await world.stored.readHead(`${node}-1`, 'serial'))?.isSealed === true;
  await live(1);
  return { world, members, detector, grounds, told, talking, growing, live, slow, isSealed };
}

const SILENT = { kind: 'silent' } as const;
const MANY = Array.from({ length: 12 }, (_, i) => `n${i}`);

/** One of many nodes that we watch, or that we do not. */
function oneOfMany(isOurs: boolean): string {
  const isWatched = (node: string) => nodesAfter(node, ['me', ...MANY], WATCHERS).includes('me');
  return MANY.find((node) => isWatched(node) === isOurs) ?? '';
}

const alive = suite('an owner that lives');

alive('is left alone for as long as one likes', async () => {
  const { live, world, grounds } = await newScene();
  await live(60);
  assert.equal([world.seals, grounds, world.bugs], [[], [], []]);
});

alive('is not asked who it is as long as it is heard', async () => {
  const { live, world, talking } = await newScene();
  world.probed.length = 0;
  world.named.length = 0;
  await live(5);
  assert.ok(world.probed.includes('a:1'));
  assert.equal(world.named, []);
  talking.delete('a');
  await live(2);
  assert.equal([...new Set(world.named)], ['a:1']);
});

alive('is left alone when it is silent on the bus but answers and grows', async () => {
  const { live, world, talking } = await newScene();
  talking.delete('a');
  await live(40);
  assert.equal(world.seals, []);
});

alive('is left alone when one connect is refused and the next is not', async () => {
  const { live, world, talking } = await newScene();
  let count = 0;
  world.found.delete('a:1');
  const get = world.found.get.bind(world.found);
  world.found.get = (address) => {
    if (address !== 'a:1') return get(address);
    count += 1;
    return count % 2 === 1 ? { kind: 'refused' } : { kind: 'answered', incarnation: 'a-1' };
  };
  talking.delete('a');
  await live(20);
  assert.ok(count > 10);
  assert.equal(world.seals, []);
});

const dead = suite('an owner whose address refuses twice');

dead('is sealed within a second and may be taken over at once', async () => {
  const { live, world, growing, talking, detector, grounds, told, members, isSealed } =
    await newScene();
  world.found.delete('a:1');
  for (const set of [growing, talking]) set.delete('a');
  await live(1);
  assert.ok(await isSealed('a'));
  assert.equal(grounds, ['dead']);
  assert.ok(detector.isSealed('a-1'));
  assert.ok(detector.openableMs('a-1') <= world.clock.monotonicMs());
  assert.ok(told.length > 0);
  assert.not(members.known().some(({ incarnation }) => incarnation === 'a-1'));
});

dead('is as dead when somebody else answers there', async () => {
  const { live, world, growing, talking, grounds, isSealed } = await newScene();
  world.found.set('a:1', { kind: 'answered', incarnation: 'a-2' });
  for (const set of [growing, talking]) set.delete('a');
  // Until its last word is old, whoever listens may be the one who said it.
  await live(0.5);
  assert.not(await isSealed('a'));
  await live(1.5);
  assert.ok(await isSealed('a'));
  assert.equal(grounds, ['dead']);
});

dead('is as dead when its address is ours: only one life at a time has it', async () => {
  const { world, detector, live, grounds, isSealed } = await newScene();
  await world.stored.begin('before', 'me:1');
  world.found.set('me:1', SILENT);
  detector.watch(new Set(['before']));
  await live(1);
  assert.ok(detector.isSealed('before'));
  assert.equal([grounds, await isSealed('a')], [['dead'], false]);
});

dead('is not sealed while the store gives no answer, and is when it does', async () => {
  const { live, world, growing, talking, detector } = await newScene();
  world.found.delete('a:1');
  for (const set of [growing, talking]) set.delete('a');
  world.isStoreDown = true;
  await live(3);
  assert.not(detector.isSealed('a-1'));
  world.isStoreDown = false;
  await live(1);
  assert.ok(detector.isSealed('a-1'));
});

dead('is never sealed by guess when it has no journal', async () => {
  const { live, world, detector } = await newScene();
  detector.watch(new Set(['a-1', 'riddle']));
  await live(1);
  assert.equal([world.seals, detector.isSealed('riddle')], [[], false]);
  assert.match(String(world.bugs[0]), /riddle, which has no journal/);
  assert.is(world.bugs.length, 1, 'shouted once');
});

const still = suite('an owner whose journal stands still');

/** As after SIGSTOP: its kernel accepts, nothing answers. */
function freeze(
  { world, growing, talking }: Awaited<ReturnType<typeof newScene>>,
  node: string,
): void {
  world.found.set(`${node}:1`, SILENT);
  for (const set of [growing, talking]) set.delete(node);
}

still('is sealed after 5 s, and may be taken over when its read lease is over', async () => {
  const scene = await newScene();
  const { live, world, detector, grounds, isSealed } = scene;
  freeze(scene, 'a');
  await live(4);
  assert.not(await isSealed('a'));
  await live(3);
  assert.equal(grounds, ['stalled']);
  const waitMs = detector.openableMs('a-1') - world.clock.monotonicMs();
  assert.ok(waitMs > 500 && waitMs <= OPEN_AFTER_SEAL_MS, `${waitMs}`);
});

still(
  'is sealed although it talks: it can serve nothing, and the ring goes on without it',
  async () => {
    const { live, growing, grounds, members } = await newScene();
    growing.delete('a');
    await live(8);
    assert.equal(grounds, ['stalled']);
    assert.not(members.present().some(({ node }) => node === 'a'));
  },
);

still('is not sealed while our own appends are slow', async () => {
  const scene = await newScene();
  scene.growing.delete('a');
  scene.slow(1_000);
  await scene.live(14);
  assert.equal(scene.world.seals, []);
  scene.slow(0);
  await scene.live(7);
  assert.equal(scene.grounds, ['stalled']);
});

still('is not sealed in a stall of the store, in which nobody’s journal grows', async () => {
  const scene = await newScene();
  scene.growing.clear();
  scene.world.readMs = 6_000;
  await scene.live(6);
  scene.world.readMs = 0;
  for (const node of ['a', 'b', 'c']) scene.growing.add(node);
  await scene.live(12);
  assert.equal(scene.world.seals, []);
});

still('costs one seal in 10 s, however many there are', async () => {
  const scene = await newScene();
  for (const node of ['a', 'b', 'c']) freeze(scene, node);
  await scene.live(8);
  assert.is(scene.world.seals.length, 1);
  await scene.live(STALLED_SEAL_PAUSE_MS / 1_000 - 3);
  assert.is(scene.world.seals.length, 1);
  await scene.live(5);
  assert.is(scene.world.seals.length, 2);
});

still('is left to the three nodes after it on the ring', async () => {
  for (const isOurs of [false, true]) {
    const { live, growing, grounds } = await newScene(MANY);
    // It talks and answers, so nothing but its journal tells.
    growing.delete(oneOfMany(isOurs));
    await live(12);
    assert.equal(grounds, isOurs ? ['stalled'] : []);
  }
});

still('is not sealed by others, whatever they hear of it', async () => {
  const node = oneOfMany(false);
  const { world, live, growing, grounds } = await newScene(MANY);
  growing.delete(node);
  for (let i = 0; i < 12; i += 1) {
    world.bus.publish('test.engine.suspect', Buffer.from(`${node}-1`));
    await live(1);
  }
  assert.ok(world.probed.includes(`${node}:1`));
  assert.equal(grounds, []);
});

const gone = suite('an owner that is silent and cannot be reached');

/** Growing, so that the second reason does not count; one connect refused, the next silent. */
function hide({ world, talking }: Awaited<ReturnType<typeof newScene>>, node: string): void {
  world.found.set(`${node}:1`, SILENT);
  talking.delete(node);
}

gone('is sealed after 15 s when we hear the others', async () => {
  const scene = await newScene();
  hide(scene, 'a');
  await scene.live(UNREACHABLE_MS / 1_000 - 1);
  assert.equal(scene.world.seals, []);
  await scene.live(2);
  assert.equal([scene.world.seals, scene.grounds], [['a-1'], ['unreachable']]);
  const waitMs = scene.detector.openableMs('a-1') - scene.world.clock.monotonicMs();
  assert.ok(waitMs > 0);
});

gone('is not sealed when we hear no more than half: we may be cut off', async () => {
  const scene = await newScene();
  for (const node of ['a', 'b']) hide(scene, node);
  await scene.live(60);
  assert.equal(scene.world.seals, []);
});

gone('is not sealed while it can be reached', async () => {
  const scene = await newScene();
  scene.talking.delete('a');
  await scene.live(60);
  assert.equal(scene.world.seals, []);
});

const share = suite('whoever hears the owners of shards');

share('hears enough with half of them, itself included', async () => {
  const scene = await newScene();
  assert.ok(scene.detector.hearsEnough);
  for (const node of ['a', 'b']) hide(scene, node);
  await scene.live(5);
  assert.ok(scene.detector.hearsEnough);
  hide(scene, 'c');
  await scene.live(5);
  assert.not(scene.detector.hearsEnough);
});

share('counts those that are sealed as heard', async () => {
  const scene = await newScene();
  for (const node of ['b', 'c']) hide(scene, node);
  scene.world.found.delete('a:1');
  for (const set of [scene.growing, scene.talking]) set.delete('a');
  await scene.live(5);
  assert.ok(scene.detector.isSealed('a-1'));
  assert.ok(scene.detector.hearsEnough);
});

const known = suite('an owner that somebody else has sealed');

known('is found out, and waited for as if it were not dead', async () => {
  const { world, detector, live, growing } = await newScene();
  growing.delete('a');
  await world.stored.seal('a-1');
  await live(2);
  assert.ok(detector.isSealed('a-1'));
  assert.ok(detector.openableMs('a-1') > world.clock.monotonicMs());
  assert.equal(world.seals, []);
});

known('is found out at once by a word on the bus, and the word passes on', async () => {
  const node = oneOfMany(false);
  const { world, detector, live } = await newScene(MANY);
  const words: string[] = [];
  world.bus.subscribe('test.engine.suspect', (word) => words.push(Buffer.from(word).toString()));
  await world.stored.seal(`${node}-1`);
  await live(5);
  assert.not(detector.isSealed(`${node}-1`));
  world.bus.publish('test.engine.suspect', Buffer.from(`${node}-1`));
  await live(2);
  assert.ok(detector.isSealed(`${node}-1`));
  assert.equal(words, [`${node}-1`, `${node}-1`]);
});

known('is looked at for a while only, if the word was wrong', async () => {
  const node = oneOfMany(false);
  const { world, live } = await newScene(MANY);
  await live(5);
  assert.not(world.probed.includes(`${node}:1`));
  world.bus.publish('test.engine.suspect', Buffer.from(`${node}-1`));
  await live(1);
  assert.ok(world.probed.includes(`${node}:1`));
  await live(4);
  world.probed.length = 0;
  await live(5);
  assert.not(world.probed.includes(`${node}:1`));
});

known('is forgotten when it owns nothing more', async () => {
  const { world, detector, live } = await newScene();
  await world.stored.seal('a-1');
  await live(2);
  detector.watch(new Set(['b-1', 'c-1']));
  assert.not(detector.isSealed('a-1'));
  assert.is(detector.openableMs('a-1'), Number.POSITIVE_INFINITY);
});

for (const suite of [alive, dead, still, gone, share, known]) suite.run();
