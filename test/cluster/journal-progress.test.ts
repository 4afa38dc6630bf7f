import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { SLOW_MS, STALLED_MS } from '#cluster/bounds';
import { JournalProgress } from '#cluster/journal-progress';
import { ClusterWorld } from '#test/cluster/cluster-fixture';
import { pass } from '#test/support/passing';

async function newScene() {
  const world = new ClusterWorld();
  await world.begin('a');
  await world.begin('b');
  let slowestMs = 0;
  const takeSlowestAppendMs = () => {
    const taken = slowestMs;
    slowestMs = 0;
    return taken;
  };
  const watch = new JournalProgress({ ...world, takeSlowestAppendMs });
  /** So many looks and reads of `a` and `b`, four a second. */
  const looks = async (count: number, each: (second: number) => unknown = () => undefined) => {
    for (let i = 0; i < count; i += 1) {
      await pass(world.clock, 250, 250);
      await each(i);
      watch.look();
      await Promise.all([watch.read('a-1'), watch.read('b-1')]);
    }
  };
  const slow = (ms: number) => {
    slowestMs = ms;
  };
  return { world, watch, looks, slow };
}

const SECOND = 4;
const still = suite('a journal that stands still');

still('is called still after 5 s, not before', async () => {
  const { watch, looks } = await newScene();
  await looks(STALLED_MS / 250);
  assert.not(watch.isStill('a-1'));
  await looks(SECOND);
  assert.ok(watch.isStill('a-1'));
});

still('is not called still while it grows, however seldom', async () => {
  const { world, watch, looks } = await newScene();
  await looks(40, (i) => (i % 16 === 0 ? world.append('a') : undefined));
  assert.equal([watch.isStill('a-1'), watch.isStill('b-1')], [false, true]);
});

still('is read once a second', async () => {
  const { world, watch } = await newScene();
  let reads = 0;
  const { journals } = world;
  const counting = {
    ...journals,
    readHead: async (...of: Parameters<typeof journals.readHead>) => {
      reads += 1;
      assert.is(of[1], 'quorum');
      return await journals.readHead(...of);
    },
  };
  const counted = new JournalProgress({
    ...world,
    journals: counting,
    takeSlowestAppendMs: () => 0,
  });
  for (let i = 0; i < 12; i += 1) {
    await counted.read('a-1');
    world.clock.advance(250);
  }
  assert.is(reads, 3);
  assert.is(await watch.read('c-1'), 'missing');
});

const own = suite('five seconds begin again for every journal');

own('when one of our own appends took a second', async () => {
  const { watch, looks, slow } = await newScene();
  await looks(5 * SECOND, (i) => (i === 10 ? slow(SLOW_MS) : undefined));
  await looks(SECOND);
  assert.not(watch.isStill('a-1'));
  await looks(3 * SECOND);
  assert.ok(watch.isStill('a-1'));
});

own('not when it took a little less', async () => {
  const { watch, looks, slow } = await newScene();
  await looks(6 * SECOND, () => slow(SLOW_MS - 1));
  assert.ok(watch.isStill('a-1'));
});

own('when a read took a second', async () => {
  const { world, watch, looks } = await newScene();
  await looks(4 * SECOND);
  const second = async () => {
    for (let i = 0; i < 4; i += 1) {
      await pass(world.clock, 250, 250);
      watch.look();
    }
  };
  await second();
  world.readMs = SLOW_MS;
  const read = watch.read('a-1');
  await second();
  await read;
  world.readMs = 0;
  await looks(2 * SECOND);
  assert.equal([watch.isStill('a-1'), watch.isStill('b-1')], [false, false]);
});

own('when a read had no answer, of whatever journal', async () => {
  const { world, watch, looks } = await newScene();
  await looks(4 * SECOND);
  world.unread.add('a-1');
  world.clock.advance(1_000);
  watch.look();
  assert.is(await watch.read('a-1'), 'unknown');
  world.unread.clear();
  await looks(2 * SECOND);
  assert.equal([watch.isStill('a-1'), watch.isStill('b-1')], [false, false]);
});

own('when this process itself was held up', async () => {
  const { world, watch, looks } = await newScene();
  await looks(4 * SECOND);
  world.clock.advance(20_000);
  await looks(SECOND);
  assert.not(watch.isStill('a-1'));
});

for (const suite of [still, own]) suite.run();
