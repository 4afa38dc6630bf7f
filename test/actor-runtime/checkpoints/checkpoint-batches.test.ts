import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  CHECKPOINT_AGE_MS,
  CHECKPOINT_SLICE_MS,
  CHECKPOINTS_IN_FLIGHT_MAX,
} from '#actor-runtime/actor-bounds';
import { Fault } from '#errors/fault';
import { HEADS_BYTES_MAX, HEADS_MAX } from '#storage/ports/instances';
import {
  batchScene,
  byLetter,
  newScene,
} from '#test/actor-runtime/checkpoints/checkpointer-fixture';
import { pass } from '#test/support/passing';
import { scrapedOf } from '#test/support/scraped';
import { turnOfEvents } from '#test/support/settled';
import { SlowJournal } from '#test/support/tally-actor';

const together = suite('the dirty actors of a bucket');

together(
  'are written together when one of them is due, without actors of other buckets',
  async () => {
    const { clock, checkpointer, due, written, end, isDirty } = batchScene(
      'a1',
      'b1',
      'a2',
      'b2',
      'a3',
    );
    clock.advance(CHECKPOINT_AGE_MS - 5);
    await due();
    assert.equal(written(), ['a1 a2 a3', 'b1 b2']);
    await end();
    assert.equal(isDirty(), [false, true, false, true, false]);
    assert.equal([checkpointer.dirty.records, checkpointer.dirty.lowest], [2, 2]);
    await end();
    assert.equal(isDirty(), [false, false, false, false, false]);
  },
);

together('are written oldest first, up to the maximum number of actors per write', async () => {
  const ids = Array.from({ length: HEADS_MAX + 2 }, (_, i) => `a${i}`);
  const { clock, due, kind } = batchScene(...ids);
  clock.advance(CHECKPOINT_AGE_MS - ids.length);
  await due();
  assert.equal(kind.held[0]?.ids, ids.slice(0, HEADS_MAX));
});

together(
  'are split by the maximum bytes of a write, and a larger actor is written alone',
  async () => {
    const { clock, checkpointer, kind, actorOf, commit, due, written } = batchScene();
    kind.unstoredBytes = HEADS_BYTES_MAX / 2;
    for (const id of ['a1', 'a2', 'a3']) commit(actorOf(id));
    kind.unstoredBytes = HEADS_BYTES_MAX + 1;
    commit(actorOf('b1'));
    assert.ok(checkpointer.dirty.tail < 0.5);
    clock.advance(CHECKPOINT_AGE_MS);
    await due();
    assert.equal(written(), ['a1 a2', 'a3', 'b1']);
  },
);

together('are skipped while they have a turn or are being written', async () => {
  const { clock, actors, actorOf, commit, due, written, checkpointer } = batchScene(
    'a1',
    'a2',
    'a3',
  );
  const [first, busy] = actors;
  if (first === undefined || busy === undefined) throw new Error('three actors');
  busy.isBusy = true;
  // Three actors commit a millisecond apart; only the first is due.
  clock.advance(CHECKPOINT_AGE_MS - 3);
  await due();
  commit(first);
  const leaving = actorOf('a4');
  commit(leaving);
  checkpointer.storeSoon(leaving);
  await turnOfEvents();
  assert.equal(written(), ['a1 a3', 'a4']);
});

together('join the write of an actor that is evicted, and of a shard that closes', async () => {
  const { actors, checkpointer, end, written, isDirty } = batchScene('a1', 'a2', 'b1', 'b2');
  const [, leaving] = actors;
  if (leaving === undefined) throw new Error('four actors');
  checkpointer.storeSoon(leaving);
  await turnOfEvents();
  assert.equal(written(), ['a2 a1']);
  await end();
  const stored = checkpointer.storeAll(() => checkpointer.dirty.actors());
  await turnOfEvents();
  assert.equal(written(), ['b1 b2']);
  await end();
  await stored;
  assert.equal(isDirty(), [false, false, false, false]);
});

together('are stored together before a handoff, each actor once', async () => {
  const { actors, checkpointer, end, written } = batchScene('a1', 'a2', 'b1', 'a3');
  const [, , , other] = actors;
  const stored = checkpointer.storeAhead(actors.filter((actor) => actor !== other));
  await turnOfEvents();
  assert.equal(written(), ['a1 a2', 'b1']);
  await end();
  await end();
  await stored;
});

together('use one write slot together', async () => {
  const letters = 'abcdefghij'.split('');
  const { clock, due, kind } = batchScene(
    ...letters.flatMap((letter) => [`${letter}1`, `${letter}2`]),
  );
  clock.advance(CHECKPOINT_AGE_MS);
  await due();
  assert.is(kind.held.length, CHECKPOINTS_IN_FLIGHT_MAX);
  assert.ok(kind.held.every(({ ids }) => ids.length === 2));
});

together('use as many starts of the even pace as separate writes of the same actors', async () => {
  const ids = Array.from({ length: 30 }, (_, i) => `${'abc'[i % 3]}${i}`);
  const { clock, due, kind, end } = batchScene(...ids);
  const writtenAt: number[] = [];
  for (let second = 1; second <= 120; second += 1) {
    clock.advance(1_000);
    await due();
    if (kind.held.length > 0) writtenAt.push(second);
    while (kind.held.length > 0) await end();
  }
  // Each actor uses a thirtieth of two minutes. The third write waits until the pace allows it.
  assert.is(writtenAt.length, 3);
  assert.is(writtenAt[0], 4);
  assert.ok(Number(writtenAt[1]) > 40 && Number(writtenAt[2]) > 80, `${writtenAt}`);
});

together(
  'are copied in short time slices, and the next slice starts after the first writes',
  async () => {
    const { clock, kind, checkpointer, actorOf, commit } = batchScene();
    for (const id of ['a1', 'b1', 'c1', 'd1']) commit(actorOf(id));
    clock.advance(CHECKPOINT_AGE_MS);
    const checkpoint = kind.checkpoint.bind(kind);
    kind.checkpoint = (...given) => {
      clock.advance(CHECKPOINT_SLICE_MS / 2);
      return checkpoint(...given);
    };
    checkpointer.startDue(clock.monotonicMs());
    await turnOfEvents();
    assert.is(kind.held.length, 2);
    kind.checkpoint = checkpoint;
    for (const { end } of kind.held.splice(0)) end();
    await pass(clock, 1, 1);
    assert.equal(
      kind.held.map(({ id }) => id),
      ['c1', 'd1'],
    );
  },
);

const failing = suite('a write of several actors');

failing('leaves all of them dirty when it fails, and is retried with all of them', async () => {
  const { clock, actors, checkpointer, due, written, end, isDirty, registry } = batchScene(
    'a1',
    'a2',
  );
  clock.advance(CHECKPOINT_AGE_MS);
  await due();
  await end(new Fault('service_unavailable', 'down'));
  assert.equal(isDirty(), [true, true]);
  assert.equal([checkpointer.dirty.lowest, checkpointer.dirty.records], [1, 2]);
  assert.equal(
    actors.map(({ state }) => state?.unstored),
    [[1], [1]],
  );
  assert.equal(await scrapedOf(registry, /^checkpoint_failures_total/), {
    'checkpoint_failures_total{service="engine"}': 1,
  });
  await due();
  assert.equal(written(), ['a1 a2']);
  await end();
  assert.equal(isDirty(), [false, false]);
});

failing(
  'is retried actor by actor when the store refuses it, so that one actor blocks no other',
  async () => {
    const { clock, due, written, end, isDirty, commit, actors } = batchScene('a1', 'a2', 'a3');
    clock.advance(CHECKPOINT_AGE_MS);
    await due();
    await end(new Fault('internal', 'too large'));
    await due();
    assert.equal(written(), ['a1', 'a2', 'a3']);
    await end();
    await end(new Fault('internal', 'too large'));
    await end();
    assert.equal(isDirty(), [false, true, false]);
    const [first, , third] = actors;
    for (const actor of [first, third]) if (actor !== undefined) commit(actor);
    clock.advance(CHECKPOINT_AGE_MS);
    await due();
    assert.equal(written(), ['a2', 'a1 a3']);
  },
);

failing('stores each actor as copied at the start, and leaves later changes dirty', async () => {
  const { clock, kind, actors, due, end, commit, isDirty, checkpointer } = batchScene('a1', 'a2');
  const [, changing] = actors;
  if (changing === undefined) throw new Error('two actors');
  clock.advance(CHECKPOINT_AGE_MS);
  await due();
  commit(changing);
  await end();
  assert.equal(isDirty(), [false, true]);
  assert.equal(kind.stored.get('a2')?.sum, 1);
  assert.equal(changing.state?.unstored, [1]);
  assert.equal([checkpointer.dirty.lowest, checkpointer.dirty.records], [3, 1]);
});

failing('changes nothing in an actor that another node owns when the write ends', async () => {
  const { clock, actors, due, end, isDirty, checkpointer } = batchScene('a1', 'a2');
  const [gone] = actors;
  if (gone === undefined) throw new Error('two actors');
  clock.advance(CHECKPOINT_AGE_MS);
  await due();
  checkpointer.abandon(gone);
  await end();
  assert.equal(isDirty(), [false, false]);
  assert.equal(gone.state?.unstored, [1], 'no unstored change is forgotten');
  assert.is(checkpointer.dirty.records, 0);
});

failing(
  'waits until all its records are durable, and skips actors that another node owns by then',
  async () => {
    const journal = new SlowJournal();
    const { kind, checkpointer, actorOf, commit } = newScene({ journal });
    kind.bucketOf = byLetter;
    const [a, b] = [actorOf('a1'), actorOf('a2')];
    commit(a);
    void checkpointer.storeAll(() => checkpointer.dirty.actors());
    await turnOfEvents();
    commit(b);
    const stored = checkpointer.storeAll(() => [b]);
    await journal.succeed();
    await turnOfEvents();
    assert.equal([...kind.stored.keys()], ['a1'], 'the second record is not durable');
    checkpointer.abandon(b);
    await journal.succeed();
    await stored;
    assert.equal([...kind.stored.keys()], ['a1']);
  },
);

failing('does not contain an actor whose side effect is pending', async () => {
  const { clock, actors, due, written, end, isDirty, checkpointer } = batchScene('a1', 'a2', 'a3');
  const [, pending] = actors;
  if (pending === undefined) throw new Error('three actors');
  checkpointer.dirty.effectPending(pending, () => Promise.reject(new Error('down')));
  clock.advance(CHECKPOINT_AGE_MS);
  await due();
  assert.equal(written(), ['a1 a3']);
  await end();
  assert.equal(isDirty(), [false, true, false]);
});

for (const group of [together, failing]) group.run();
