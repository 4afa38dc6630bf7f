import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { UNFLUSHED_BYTES_MAX, UNFLUSHED_RECORDS_MAX } from '#actor-runtime/actor-bounds';
import { heldScene, newScene } from '#test/actor-runtime/checkpoints/checkpointer-fixture';
import { refusalOf, turnOfEvents } from '#test/support/settled';

const INFINITE = Number.POSITIVE_INFINITY;

const lowest = suite('the lowest offset that dirty actors need');

lowest('is the offset of the oldest record without a checkpoint', async () => {
  const { checkpointer, actorOf, commit } = newScene();
  const [a, b] = [actorOf('a'), actorOf('b')];
  assert.is(checkpointer.dirty.lowest, INFINITE);
  commit(a, b, a);
  assert.is(checkpointer.dirty.lowest, 1);
  await checkpointer.storeAll(() => [a]);
  assert.is(checkpointer.dirty.lowest, 2);
  await checkpointer.storeAll(() => checkpointer.dirty.actors());
  assert.is(checkpointer.dirty.lowest, INFINITE);
});

lowest('does not move before the write is confirmed, nor when the write fails', async () => {
  const { kind, checkpointer, actorOf, commit } = heldScene();
  commit(actorOf('a'));
  const stored = refusalOf(() => checkpointer.storeAll(() => checkpointer.dirty.actors()));
  await turnOfEvents();
  assert.is(checkpointer.dirty.lowest, 1);
  kind.held.shift()?.end(new Error('down'));
  await stored;
  assert.equal([checkpointer.dirty.lowest, checkpointer.dirty.records], [1, 1]);
});

lowest('moves only past the records that the checkpoint contained', async () => {
  const { kind, checkpointer, actorOf, commit } = heldScene();
  const a = actorOf('a');
  commit(a, a);
  const stored = checkpointer.storeAll(() => checkpointer.dirty.actors());
  await turnOfEvents();
  commit(a);
  kind.held.shift()?.end();
  await turnOfEvents();
  assert.equal([checkpointer.dirty.lowest, checkpointer.dirty.records], [3, 1]);
  assert.equal(a.state?.unstored, [1]);
  await turnOfEvents();
  kind.held.shift()?.end();
  await stored;
  assert.is(checkpointer.dirty.lowest, INFINITE);
});

lowest(
  'is the first offset after the checkpoint, however many records were added during the write',
  async () => {
    const { kind, checkpointer, actorOf, commit } = heldScene();
    const a = actorOf('a');
    commit(a);
    const stored = checkpointer.storeAll(() => checkpointer.dirty.actors());
    await turnOfEvents();
    commit(a, a);
    kind.held.shift()?.end();
    await turnOfEvents();
    assert.equal([checkpointer.dirty.lowest, checkpointer.dirty.records], [2, 2]);
    await turnOfEvents();
    kind.held.shift()?.end();
    await stored;
  },
);

lowest('is the offset of the recovered tail if an actor has replayed its records', async () => {
  const { checkpointer, actorOf, commit } = newScene();
  const a = actorOf('a');
  for (let i = 0; i < 9; i += 1) commit(actorOf(`b${i}`));
  await checkpointer.storeAll(() => checkpointer.dirty.actors());
  checkpointer.dirty.recovered(a, 5, 4, undefined);
  assert.equal([checkpointer.dirty.lowest, checkpointer.dirty.records], [4, 5]);
  commit(a);
  assert.is(checkpointer.dirty.lowest, 4);
  await checkpointer.storeAll(() => checkpointer.dirty.actors());
  assert.is(checkpointer.dirty.lowest, INFINITE);
});

const abandoned = suite('an actor that another node owns now');

abandoned(
  'no longer affects the lowest offset, and the end of its write changes no count',
  async () => {
    const { kind, checkpointer, actorOf, commit } = heldScene();
    const [a, b] = [actorOf('a'), actorOf('b')];
    commit(a, b, a);
    const stored = checkpointer.storeAll(() => [a]);
    await turnOfEvents();
    checkpointer.abandon(a);
    assert.equal([checkpointer.dirty.lowest, checkpointer.dirty.records], [2, 1]);
    kind.held.shift()?.end();
    await stored;
    assert.equal([checkpointer.dirty.lowest, checkpointer.dirty.records], [2, 1]);
    assert.equal(
      [a, b].map((actor) => checkpointer.dirty.stateOf(actor) !== undefined),
      [false, true],
    );
  },
);

const tail = suite('the fill level of the tail');

tail('follows commits, checkpoints and dropped actors, in records and in bytes', async () => {
  const { kind, checkpointer, actorOf, commit } = newScene();
  const [a, b] = [actorOf('a'), actorOf('b')];
  const share = (bytes: number) => bytes / UNFLUSHED_BYTES_MAX;
  const large = UNFLUSHED_BYTES_MAX / 4;
  kind.unstoredBytes = large;
  assert.is(checkpointer.dirty.tail, 0);
  commit(a, b, a);
  assert.is(checkpointer.dirty.tail, share(3 * large));
  await checkpointer.storeAll(() => [a]);
  assert.is(checkpointer.dirty.tail, share(large));
  commit(a);
  checkpointer.abandon(b);
  assert.is(checkpointer.dirty.tail, share(large));
  await checkpointer.storeAll(() => checkpointer.dirty.actors());
  assert.is(checkpointer.dirty.tail, 0);
  kind.unstoredBytes = 1;
  checkpointer.dirty.recovered(a, UNFLUSHED_RECORDS_MAX / 2, 1, undefined);
  assert.is(checkpointer.dirty.tail, 0.5);
});

const ofShard = suite('the dirty actors of a shard');

ofShard('are listed by oldest change, and an actor whose write failed comes last', async () => {
  const { checkpointer, actorOf, commit } = newScene();
  const [a, b, c] = [actorOf('a', 1), actorOf('b', 1), actorOf('c', 2)];
  const idsOf = (shard: number) => [...checkpointer.dirty.ofShard(shard)].map(({ id }) => id);
  assert.equal(idsOf(1), []);
  commit(a, c, b, a);
  assert.equal([idsOf(1), idsOf(2)], [['a', 'b'], ['c']]);
  checkpointer.dirty.postpone(a, 0);
  assert.equal(idsOf(1), ['b', 'a']);
  await checkpointer.storeAll(() => checkpointer.dirty.ofShard(1));
  assert.equal([idsOf(1), idsOf(2)], [[], ['c']]);
});

for (const group of [lowest, abandoned, tail, ofShard]) group.run();
