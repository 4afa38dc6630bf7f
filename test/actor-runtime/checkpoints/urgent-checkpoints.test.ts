import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { UNFLUSHED_RECORDS_MAX, URGENT_CHECKPOINT_AGE_MS } from '#actor-runtime/actor-bounds';
import { Fault } from '#errors/fault';
import { batchScene } from '#test/actor-runtime/checkpoints/checkpointer-fixture';

const urgent = suite('a state that another actor depends on');

urgent('is stored 10 s after its commit, with other actors of its bucket', async () => {
  const { clock, commit, actors, due, written } = batchScene('a1', 'a2');
  const [, deleted] = actors;
  if (deleted?.state === undefined) throw new Error('two actors');
  clock.advance(30_000);
  await due();
  assert.equal(written(), []);
  deleted.state.sum = -5;
  commit(deleted);
  clock.advance(URGENT_CHECKPOINT_AGE_MS - 1);
  await due();
  assert.equal(written(), []);
  clock.advance(1);
  await due();
  assert.equal(written(), ['a2 a1']);
});

urgent('is urgent after a replay, and while a side effect is pending', async () => {
  const { clock, checkpointer, actorOf, commit, due, written, end } = batchScene('a1');
  const [replayed, answered, waiting] = [actorOf('b1'), actorOf('c1'), actorOf('d1')];
  if (replayed.state !== undefined) replayed.state.sum = -1;
  checkpointer.dirty.recovered(replayed, 1, 1, undefined);
  const effect = async () => undefined;
  for (const actor of [answered, waiting]) {
    commit(actor);
    checkpointer.dirty.effectPending(actor, effect);
  }
  checkpointer.dirty.effectDone(answered, effect);
  clock.advance(URGENT_CHECKPOINT_AGE_MS);
  await due();
  assert.equal(written(), ['b1', 'd1']);
  await end();
  await end();
  assert.equal([...checkpointer.dirty.urgent()], []);
});

urgent('stays urgent until it is stored, even after a failed write or another change', async () => {
  const { clock, commit, actors, due, written, end, checkpointer } = batchScene('a1');
  const [deleted] = actors;
  if (deleted?.state === undefined) throw new Error('one actor');
  deleted.state.sum = -5;
  commit(deleted);
  clock.advance(URGENT_CHECKPOINT_AGE_MS);
  await due();
  await end(new Fault('service_unavailable', 'down'));
  await due();
  assert.equal(written(), ['a1']);
  commit(deleted);
  await end();
  assert.is([...checkpointer.dirty.urgent()].length, 1);
  clock.advance(URGENT_CHECKPOINT_AGE_MS);
  await due();
  assert.equal(written(), ['a1']);
  checkpointer.abandon(deleted);
  assert.equal([...checkpointer.dirty.urgent()], []);
});

const far = suite('an actor whose old records prevent the truncation of the journal');

far('is stored at any age', async () => {
  const { log, checkpointer, actors, due, written } = batchScene('a1');
  assert.is(checkpointer.dirty.records, 1);
  for (let i = 0; i < UNFLUSHED_RECORDS_MAX - 1; i += 1) log.add('');
  await due();
  assert.equal(written(), []);
  log.add('');
  await due();
  assert.equal(written(), ['a1']);
  assert.is(actors.length, 1);
});

for (const group of [urgent, far]) group.run();
